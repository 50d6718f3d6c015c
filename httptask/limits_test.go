//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package httptask_test

// The time limits of an http.Server, on hosts of a cluster, where time is simulated.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// A said text is one that a client sends after a while.
type said struct {
	after time.Duration
	text  string
}

// limits are those of an http.Server.
type limits struct {
	ReadTimeout, ReadHeaderTimeout, WriteTimeout, IdleTimeout time.Duration
}

// timeLimits are servers with limits, clients that are slow, and how long after the connection
// began the server has ended it: a limit that does not work ends nothing before the client does,
// after an hour. As with net/http, a request line that is cut off is a bad request.
var timeLimits = []struct {
	name  string
	limit limits
	said  []said
	want  string // the answers, without heads
	end   time.Duration
}{
	{"a head does not come", limits{ReadHeaderTimeout: 10 * time.Second}, nil, "", 10 * time.Second},
	{"a head does not end", limits{ReadHeaderTimeout: 10 * time.Second}, []said{{9 * time.Second, "GET /"}}, "400 Bad Request", 10 * time.Second},
	{"a field does not come", limits{ReadHeaderTimeout: 10 * time.Second}, []said{{0, "GET / HTTP/1.1\r\nHost: h\r\n"}}, "", 10 * time.Second},
	{"a head comes byte by byte", limits{ReadHeaderTimeout: 10 * time.Second}, drops(get, 1500*time.Millisecond), "400 Bad Request", 10 * time.Second},
	{"the second head does not end", limits{ReadHeaderTimeout: 10 * time.Second}, []said{{0, get}, {time.Minute, "GET /"}}, "0 ok.400 Bad Request", 70 * time.Second},
	{"a head has its own limit", limits{ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}, []said{{0, "GET /"}}, "400 Bad Request", 10 * time.Second},
	{"a head has the limit of the request", limits{ReadTimeout: 10 * time.Second}, []said{{0, "GET /"}}, "400 Bad Request", 10 * time.Second},
	{"a body has no limit", limits{ReadHeaderTimeout: 10 * time.Second}, []said{{0, postOf2}, {30 * time.Minute, "ab"}, {0, "GET /"}}, "2 ok.400 Bad Request", 30*time.Minute + 10*time.Second},
	{"a body does not end", limits{ReadTimeout: 10 * time.Second}, []said{{0, postOf2}, {9 * time.Second, "a"}}, "1 late.", 10 * time.Second},
	{"a body has the limit of the request", limits{ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}, []said{{0, postOf2}, {30 * time.Second, "a"}}, "1 late.", time.Minute},
	{"no limit", limits{}, []said{{30 * time.Minute, get}}, "0 ok.", time.Hour},
	{"no second request", limits{IdleTimeout: 10 * time.Second}, []said{{time.Minute, get}}, "0 ok.", 70 * time.Second},
	{"no third request", limits{IdleTimeout: 10 * time.Second}, []said{{0, get}, {9 * time.Second, get}}, "0 ok.0 ok.", 19 * time.Second},
	{"no second request, and a limit of reading", limits{ReadTimeout: 10 * time.Second}, []said{{0, get}}, "0 ok.", 10 * time.Second},
	{"an idle connection has its own limit", limits{ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute}, []said{{0, get}}, "0 ok.", time.Minute},
	{"a handler may take its time", limits{ReadTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second}, []said{{0, "GET /slow HTTP/1.1\r\nHost: h\r\n\r\n"}}, "0 ok.", 80 * time.Second},
	{"what a handler has set ends with its request", limits{}, []said{{0, "GET /limited HTTP/1.1\r\nHost: h\r\n\r\n"}, {time.Minute, get}}, "0 ok.0 ok.", time.Hour},
	{"the client does not read", limits{WriteTimeout: 10 * time.Second}, []said{{0, "GET /much HTTP/1.1\r\nHost: h\r\n\r\n"}}, "cut", time.Hour},
}

const postOf2 = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n"

// drops are the bytes of text, one after the other.
func drops(text string, pause time.Duration) (all []said) {
	for i := range text {
		all = append(all, said{pause, text[i : i+1]})
	}
	return all
}

// TestTimeLimits has each of them.
func TestTimeLimits(t *testing.T) {
	sim.Config{Seeds: 3}.Cluster(t, func(ctx context.Context, w *sim.World) {
		for i, row := range timeLimits {
			name := fmt.Sprint("server", i)
			var end time.Duration
			var got string
			w.Host(name, func(ctx context.Context) error {
				l, err := socket.Listen(ctx, "tcp", ":80")
				if err != nil {
					return err
				}
				s := &httptask.Server{HTTP: http.Server{ErrorLog: silent, Handler: http.HandlerFunc(takesTime)}}
				s.HTTP.ReadTimeout, s.HTTP.ReadHeaderTimeout = row.limit.ReadTimeout, row.limit.ReadHeaderTimeout
				s.HTTP.WriteTimeout, s.HTTP.IdleTimeout = row.limit.WriteTimeout, row.limit.IdleTimeout
				return s.Serve(ctx, l)
			})
			w.Host(fmt.Sprint("client", i), func(ctx context.Context) error {
				_ = rondo.Sleep(ctx, time.Second)
				var err error
				got, end, err = slowly(ctx, name+":80", row.said)
				return err
			})
			_ = rondo.Sleep(ctx, 2*time.Hour)
			if got != row.want || end.Round(time.Second) != row.end {
				t.Errorf("%s: %q after %v, want %q after %v", row.name, got, end, row.want, row.end)
			}
		}
	})
}

// takesTime says how long the body was, and whether it was all.
func takesTime(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/slow":
		_ = rondo.Sleep(r.Context(), 70*time.Second)
	case "/limited":
		control, soon := http.NewResponseController(w), rondo.Now(r.Context()).Add(10*time.Second)
		if err := errors.Join(control.SetReadDeadline(soon), control.SetWriteDeadline(soon)); err != nil {
			panic(err)
		}
	case "/much":
		for {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					panic(err)
				}
				return
			}
		}
	}
	b, err := io.ReadAll(r.Body)
	word := "ok"
	if e, ok := err.(net.Error); ok && e.Timeout() {
		word = "late"
	}
	fmt.Fprintf(w, "%d %s.", len(b), word)
}

// slowly says what there is to say, and returns the answers, and when the server has ended the
// connection.
func slowly(ctx context.Context, address string, all []said) (got string, end time.Duration, err error) {
	const most = time.Hour
	c, err := socket.Dial(ctx, "tcp", address)
	if err != nil {
		return "", 0, err
	}
	defer c.Close()
	begin := rondo.Now(ctx)
	speaker := rondo.Go(ctx, func(ctx context.Context) error {
		for _, s := range all {
			if err := rondo.Sleep(ctx, s.after); err != nil {
				return nil
			}
			say(c, s.text) // the server may have ended it
		}
		if rondo.Sleep(ctx, most-rondo.Now(ctx).Sub(begin)) == nil {
			_ = c.(interface{ CloseWrite() error }).CloseWrite()
		}
		return nil
	})
	if len(all) > 0 && strings.Contains(all[0].text, "/much") {
		_ = rondo.Sleep(ctx, most)
	}
	in := bufio.NewReader(io.LimitReader(c, 16<<20))
	for {
		a, err := http.ReadResponse(in, nil)
		if err != nil {
			break
		}
		b, err := io.ReadAll(a.Body)
		if err != nil {
			got += "cut"
			break
		}
		got += string(b)
	}
	end = rondo.Now(ctx).Sub(begin)
	speaker.Cancel(nil)
	_ = speaker.Wait(ctx)
	return got, end, nil
}

// TestTellIdle: what the program writes to an idle connection has no limit left from the answer
// before it.
func TestTellIdle(t *testing.T) {
	const told = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\ntold"
	sim.Config{Seeds: 3}.Cluster(t, func(ctx context.Context, w *sim.World) {
		w.Host("server", func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", ":80")
			if err != nil {
				return err
			}
			s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(takesTime), WriteTimeout: 10 * time.Second}}
			s.HTTP.ConnState = func(c net.Conn, state http.ConnState) {
				if state != http.StateIdle {
					return
				}
				rondo.Go(ctx, func(ctx context.Context) error {
					_ = rondo.Sleep(ctx, time.Minute)
					_, err := io.WriteString(c, told)
					return errors.Join(err, c.Close())
				})
			}
			return s.Serve(ctx, l)
		})
		_ = rondo.Sleep(ctx, time.Second)
		got, _, err := slowly(ctx, "server:80", []said{{0, get}})
		if got != "0 ok.told" || err != nil {
			t.Errorf("the client gets %q, %v", got, err)
		}
	})
}
