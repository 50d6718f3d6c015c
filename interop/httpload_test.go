package interop_test

// An httptask.Server under load: h2load by HTTP/2 and HTTP/1.1, with and without TLS; wrk by
// HTTP/1.1, with TLS, pipelined, and with connections that break off; slowhttptest, whose clients
// send and read as slowly as they can.
// The tests count answers and never ask how long they took.

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/interop/internal/peer"
)

// load is a server under load. Its handlers share the counters without a lock.
type load struct {
	served int // requests whose handler has answered
	at     overlap
}

// ServeHTTP answers a GET with one line, and a POST with the length of its body, after a wait
// in which other handlers run.
func (l *load) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	leave := l.at.enter()
	defer leave()
	if rondo.Yield(r.Context()) != nil {
		return // the client has gone
	}
	if r.Method == http.MethodPost {
		buf, n := make([]byte, 4096), 0
		for {
			k, err := r.Body.Read(buf)
			n += k
			if err != nil {
				break
			}
		}
		fmt.Fprintln(w, n)
		l.served++
		return
	}
	fmt.Fprintln(w, r.Proto)
	l.served++
}

// number returns the number in the first group of the pattern in out, or fails.
func number(t *testing.T, out, pattern string) int {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("no %q in\n%s", pattern, out)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestHTTPTaskH2load: each of 3,000 requests over 10 connections gets its answer, by
// HTTP/2 with 20 streams at once on each, and by HTTP/1.1, with TLS and without. So does
// each of 300 bodies of 100 kB, by both: that is more than a stream's first window.
func TestHTTPTaskH2load(t *testing.T) {
	h2load := peer.Need(t, "h2load")
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, []byte(strings.Repeat("0123456789", 10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{newCertificate(t).pair}}
	for _, v := range []struct {
		name, scheme, proto string
		config              *tls.Config
		args                []string
	}{
		{"h2", "https", "h2", config, []string{"-n", "3000", "-c", "10", "-m", "20"}},
		{"h2c", "http", "h2c", nil, []string{"-n", "3000", "-c", "10", "-m", "20"}},
		{"h1", "https", "http/1.1", config, []string{"-n", "3000", "-c", "10", "--h1"}},
		{"plain-h1", "http", "http/1.1", nil, []string{"-n", "3000", "-c", "10", "-m", "5", "--h1"}},
		{"body", "https", "h2", config, []string{"-n", "300", "-c", "5", "-m", "10", "-d", body}},
		{"body-h1", "https", "http/1.1", config, []string{"-n", "300", "-c", "5", "-d", body, "--h1"}},
	} {
		t.Run(v.name, func(t *testing.T) {
			served := new(load)
			requests := v.args[1]
			want, err := strconv.Atoi(requests)
			if err != nil {
				t.Fatal(err)
			}
			run(t, func(ctx context.Context) error {
				return servingHTTP(ctx, served, v.config, func(ctx context.Context, address string) error {
					out, err := command(ctx, nil, h2load, append(v.args, v.scheme+"://"+address+"/")...)
					if err != nil {
						return err
					}
					summary := fmt.Sprintf("requests: %s total, %[1]s started, %[1]s done, %[1]s succeeded, 0 failed, 0 errored, 0 timeout", requests)
					codes := fmt.Sprintf("status codes: %s 2xx, 0 3xx, 0 4xx, 0 5xx", requests)
					if !strings.Contains(out, summary) || !strings.Contains(out, codes) || !strings.Contains(out, "protocol: "+v.proto+"\n") {
						t.Errorf("not %q, %q by %s:\n%s", summary, codes, v.proto, out)
					}
					return nil
				})
			})
			if served.served != want {
				t.Errorf("%d requests were served, not %d", served.served, want)
			}
			served.at.want(t, 2)
		})
	}
}

// pipelined makes wrk send ten requests at a time, before it has read an answer.
const pipelined = `
init = function(args)
	local r = {}
	for i = 1, 10 do r[i] = wrk.format("GET", "/" .. i) end
	batch = table.concat(r)
end
request = function() return batch end
`

// TestHTTPTaskWrk: no answer that wrk reads is wrong and no connection fails, also if it
// sends ten requests at a time. When its second is over it breaks off, in the middle of
// many requests: handlers that run then are cancelled, so there are at least as many
// answers as it has counted, and the server ends.
func TestHTTPTaskWrk(t *testing.T) {
	wrk := peer.Need(t, "wrk")
	script := filepath.Join(t.TempDir(), "pipelined.lua")
	if err := os.WriteFile(script, []byte(pipelined), 0o600); err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{newCertificate(t).pair}}
	for _, v := range []struct {
		name, scheme string
		config       *tls.Config
		args         []string
	}{
		{"plain", "http", nil, nil},
		{"pipelined", "http", nil, []string{"-s", script}},
		{"TLS", "https", config, nil},
	} {
		t.Run(v.name, func(t *testing.T) {
			served := new(load)
			run(t, func(ctx context.Context) error {
				return servingHTTP(ctx, served, v.config, func(ctx context.Context, address string) error {
					out, err := command(ctx, nil, wrk, append(v.args, "-t2", "-c16", "-d1s", v.scheme+"://"+address+"/")...)
					if err != nil {
						return err
					}
					n := number(t, out, `(\d+) requests in `)
					if n == 0 || strings.Contains(out, "Non-2xx") || strings.Contains(out, "Socket errors") {
						t.Errorf("wrk says\n%s", out)
					}
					if served.served < n {
						t.Errorf("wrk read %d answers, and %d requests were served", n, served.served)
					}
					return nil
				})
			})
			served.at.want(t, 2)
			if served.at.inside != 0 {
				t.Errorf("%d handlers have not returned", served.at.inside)
			}
		})
	}
}

// TestHTTPTaskSlow: while 200 clients send and read as slowly as they can, every request of
// another client is answered. The server's limits end the connections of those that send too
// slowly, and it shuts down while others still read.
func TestHTTPTaskSlow(t *testing.T) {
	t.Parallel()
	slow := peer.Need(t, "slowhttptest")
	answer := make([]byte, 1<<20)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // it ends by ReadTimeout
		_, _ = w.Write(answer)
	})
	attack := func(ctx context.Context, name string, ends bool, args ...string) error {
		s := &httptask.Server{HTTP: http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0),
			ReadHeaderTimeout: 3 * time.Second, ReadTimeout: 3 * time.Second, WriteTimeout: 6 * time.Second}}
		return whileServing(ctx, s, func(ctx context.Context, address string) error {
			url := "http://" + address + "/"
			attack := rondo.Async(ctx, func(ctx context.Context) (string, error) {
				return command(ctx, nil, slow, append(args, "-c", "200", "-r", "200", "-u", url)...)
			})
			base := new(http.Transport)
			defer base.CloseIdleConnections()
			client := http.Client{Transport: httptask.Transport(ctx, base)}
			for n := 0; n == 0 || !attack.Done(); n++ {
				if err := whole(ctx, &client, url, len(answer)); err != nil {
					t.Errorf("%s: request %d beside the slow ones: %v", name, n, err)
					break
				}
				if err := rondo.Sleep(ctx, 100*time.Millisecond); err != nil {
					return err
				}
			}
			out, err := attack.Wait(ctx)
			if ended := strings.Contains(out, "No open connections left"); err == nil && ended != ends {
				t.Errorf("%s: slowhttptest says\n%s", name, out)
			}
			return err
		})
	}
	run(t, func(ctx context.Context) error {
		var errs []error
		for _, a := range []*rondo.Task{
			rondo.Go(ctx, func(ctx context.Context) error { return attack(ctx, "head", true, "-H", "-i", "1", "-l", "60") }),
			rondo.Go(ctx, func(ctx context.Context) error { return attack(ctx, "body", true, "-B", "-i", "1", "-l", "60") }),
			rondo.Go(ctx, func(ctx context.Context) error { return attack(ctx, "ranges", true, "-R", "-l", "60") }),
			rondo.Go(ctx, func(ctx context.Context) error {
				return attack(ctx, "reader", false, "-X", "-w", "10", "-y", "20", "-n", "1", "-z", "10", "-l", "4")
			}),
		} {
			errs = append(errs, a.Wait(ctx))
		}
		return errors.Join(errs...)
	})
}

// whole gets an answer of a length.
func whole(ctx context.Context, client *http.Client, url string, length int) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if n, err := io.Copy(io.Discard, response.Body); err != nil || n != int64(length) {
		return fmt.Errorf("%d bytes, %w", n, err)
	}
	return nil
}
