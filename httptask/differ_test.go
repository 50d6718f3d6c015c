//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package httptask_test

// Random conversations with net/http's server and with a Server: the bytes that come back
// must be equal, and so must be the end of the connection.

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
)

var (
	differs    = flag.Int("differ", 300, "random conversations that TestDiffer has")
	differSeed = flag.Uint64("differ.seed", 1, "seed of the first of them")
)

// A conversation is what one client sends, in pieces.
type conversation struct {
	pieces []string
	half   bool // the client ends its side after the last one
}

func (c conversation) String() string {
	return condensed(fmt.Sprintf("%q half=%v", c.pieces, c.half))
}

// condensed returns text with the length of long runs in place of them.
func condensed(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		if k := len(text) - len(strings.TrimLeft(text, text[:1])); k > 20 {
			fmt.Fprintf(&b, "{%d %c}", k, text[0])
			text = text[k:]
		} else {
			b.WriteString(text[:k])
			text = text[k:]
		}
	}
	return b.String()
}

// newConversation returns a random one. The script of the handler of each request is in its
// path; see actor.
func newConversation(r *rand.Rand) conversation {
	var all strings.Builder
	n := 1 + r.IntN(4)
	for range n {
		all.WriteString(newRequest(r))
	}
	text := all.String()
	if r.IntN(12) == 0 { // something is cut off
		text = text[:r.IntN(len(text)+1)]
	}
	c := conversation{half: r.IntN(3) == 0}
	switch r.IntN(4) {
	case 0: // at once
		c.pieces = []string{text}
	case 1: // in a few pieces
		for len(text) > 0 {
			k := 1 + r.IntN(len(text))
			c.pieces, text = append(c.pieces, text[:k]), text[k:]
		}
	case 2: // the heads apart from the bodies
		c.pieces = strings.SplitAfter(text, "\r\n\r\n")
	default: // byte by byte, at first
		for len(text) > 0 && len(c.pieces) < 40 {
			c.pieces, text = append(c.pieces, text[:1]), text[1:]
		}
		if text != "" {
			c.pieces = append(c.pieces, text)
		}
	}
	return c
}

// since127 reports whether Server does in it as net/http of Go 1.27, and not of 1.26: a body that
// the client was not told to send is not read when the answer has begun, and a reader is not
// copied past Content-Length.
func (c conversation) since127() bool {
	text := strings.ToLower(strings.Join(c.pieces, ""))
	return strings.Contains(text, "expect: 100-continue") || strings.Contains(text, "/hl") && strings.Contains(text, "/rf")
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// steps are what a handler may do; see actor.
var steps = []string{
	"w10", "w10", "w100", "w1000", "w2048", "w2049", "w5000", "w70000", "s10", "s3000", "f", "f", "r10", "r1000", "ra", "ra",
	"rc", "h", "hx", "hl20", "hl5", "h204", "h304", "h404", "h103", "hclose", "hte", "hid", "ht", "tr", "tp", "panic", "abort",
	"hijack", "y", "y", "rf600", "rf9", "rx", "ct", "ctnil", "date", "ret", "wx", "mb",
}

func newRequest(r *rand.Rand) string {
	method := pick(r, "GET", "GET", "GET", "POST", "POST", "POST", "HEAD", "PUT", "OPTIONS", "CONNECT", "DELETE")
	var script []string
	for range r.IntN(7) {
		script = append(script, pick(r, steps...))
	}
	target := "/" + strings.Join(script, "/")
	switch r.IntN(40) {
	case 0:
		target = "*"
	case 1:
		target = "http://elsewhere" + target
	case 2:
		target = "nonsense"
	}
	proto := pick(r, "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/1.0")
	if r.IntN(60) == 0 {
		proto = pick(r, "HTTP/2.0", "HTTP/0.9", "HTTP/1.2", "HTTP/9", "http/1.1", "")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\r\n", method, target, proto)
	if r.IntN(25) > 0 {
		b.WriteString("Host: h\r\n")
	} else {
		b.WriteString(pick(r, "", "Host:\r\n", "Host: a\r\nHost: b\r\n", "Host: a b\r\n", "Host: a\r\n b\r\n", "host: x/y\r\n", "Host : a\r\n"))
	}
	if r.IntN(4) == 0 {
		b.WriteString(pick(r, "Connection: close\r\n", "Connection: keep-alive\r\n", "Connection: Keep-Alive\r\n", "Connection: upgrade\r\n", "Connection: x, close\r\n"))
	}
	if r.IntN(12) == 0 {
		b.WriteString(pick(r, "X: "+strings.Repeat("x", 5000)+"\r\n", "X:\r\n\ty\r\n", "X y: z\r\n", "X\x00: y\r\n", "X: \x01\r\n", ": x\r\n", "X\r\n", "\r\n", "X: a\nY: b\r\n", "X: a\rb\r\n"))
	}
	body := ""
	if method != "GET" && method != "HEAD" || r.IntN(10) == 0 {
		body = newBody(r, &b)
	}
	b.WriteString("\r\n")
	b.WriteString(body)
	if method == "POST" && r.IntN(8) == 0 {
		b.WriteString("\r\n")
	}
	return b.String()
}

// newBody returns a body, and writes the fields that announce it.
func newBody(r *rand.Rand, head *strings.Builder) string {
	n := pick(r, 0, 1, 10, 100, 4000, 5000, 20_000, 300_000)
	if n == 300_000 && r.IntN(4) > 0 {
		n = 50
	}
	if r.IntN(8) == 0 {
		head.WriteString(pick(r, "Expect: 100-continue\r\n", "Expect: 100-Continue\r\n", "Expect: more\r\n"))
	}
	text := strings.Repeat("b", n)
	switch r.IntN(10) {
	case 0, 1, 2:
		head.WriteString("Transfer-Encoding: chunked\r\n")
		if r.IntN(3) == 0 {
			head.WriteString(pick(r, "Trailer: Sum\r\n", "Trailer: Content-Length\r\n", "Content-Length: 3\r\n", "Trailer: Sum, More\r\n"))
		}
		var b strings.Builder
		for len(text) > 0 {
			k := 1 + r.IntN(len(text))
			fmt.Fprintf(&b, "%x%s\r\n%s\r\n", k, pick(r, "", "", "", ";ext", " ", ";a=\"b\""), text[:k])
			text = text[k:]
		}
		b.WriteString(pick(r, "0\r\n\r\n", "0\r\n\r\n", "0\r\n\r\n", "0\r\nSum: 7\r\n\r\n", "0\r\nSum: 7\r\nOther: 8\r\n\r\n", "zzz\r\n\r\n", "0\n\n", "-1\r\n\r\n",
			"0\r\nSum: "+strings.Repeat("x", 5000)+"\r\n\r\n", "0\r\nbad\r\n\r\n", "0000000000000000000000\r\n\r\n"))
		return b.String()
	case 3:
		fmt.Fprintf(head, "%s\r\n", pick(r, "Content-Length: +3", "Content-Length: -3", "Content-Length: 3, 3", "Content-Length: 3\r\nContent-Length: 3",
			"Content-Length: 3\r\nContent-Length: 4", "Content-Length:", "Content-Length: 0x3", "Content-Length : 3", "Content-Length: 99999999999999999999",
			"Transfer-Encoding: gzip", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: identity", "Transfer-Encoding: Chunked",
			"Transfer-Encoding:\tchunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: \x0bchunked"))
		return "abc"
	default:
		fmt.Fprintf(head, "Content-Length: %d\r\n", n)
		return text
	}
}

// actor does what the path of a request says. What it learns goes into the answer. wait
// lets time pass.
func actor(wait func(r *http.Request), shield func(r *http.Request, fn func())) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for step := range strings.SplitSeq(strings.TrimPrefix(r.URL.Path, "/"), "/") {
			if act(w, r, step, wait, shield) {
				return
			}
		}
		// A handler of an answer that was refused learns the same.
		fmt.Fprintf(w, "[%s %s %s %d %v %v]", r.Method, r.Host, r.RequestURI, r.ContentLength, r.TransferEncoding, r.Close)
	}
}

func act(w http.ResponseWriter, r *http.Request, step string, wait func(r *http.Request), shield func(r *http.Request, fn func())) (over bool) {
	number := func(prefix string) (n int) { _, _ = fmt.Sscanf(step, prefix+"%d", &n); return n }
	h := w.Header()
	switch {
	case step == "wx":
		n, err := w.Write(nil)
		fmt.Fprint(w, n, err)
	case strings.HasPrefix(step, "w"):
		n, err := w.Write(bytes.Repeat([]byte{'w'}, number("w")))
		if n == 0 {
			fmt.Fprint(w, n, err != nil)
		}
	case strings.HasPrefix(step, "s"):
		say(w, strings.Repeat("s", number("s")))
	case step == "f":
		w.(http.Flusher).Flush()
	case step == "ra":
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "(%d %v %v)", len(b), failure(err), r.Trailer)
	case step == "rc":
		fmt.Fprint(w, failure(r.Body.Close()))
	case step == "ret":
		return true
	case step == "rx":
		// After chunks that are malformed, net/http's server reads what follows as a request
		// if the handler has replaced the body; a Server closes the connection.
		if r.ContentLength >= 0 {
			r.Body = http.NoBody
		}
	case strings.HasPrefix(step, "rf"):
		var src io.Reader = strings.NewReader(strings.Repeat("f", number("rf")))
		_, _ = io.Copy(w, io.LimitReader(src, 1<<20))
	case strings.HasPrefix(step, "r"):
		n, err := io.ReadFull(r.Body, make([]byte, number("r")))
		fmt.Fprintf(w, "(%d %v)", n, failure(err))
	case step == "hx":
		h["X-a"], h["x b"], h["Y"] = []string{"1\n2", " 3 "}, []string{"no"}, nil
	case strings.HasPrefix(step, "hl"):
		h.Set("Content-Length", fmt.Sprint(number("hl")))
	case step == "h":
		h.Set("Server", "x")
	case step == "hclose":
		h.Set("Connection", "close")
	case step == "hte":
		h.Set("Transfer-Encoding", "chunked")
	case step == "hid":
		h.Set("Transfer-Encoding", "identity")
	case step == "ht":
		h.Set("Connection", "keep-alive")
	case step == "tr":
		h.Set("Trailer", "Sum, If-x, Host")
		h.Set("Sum", "8")
	case step == "tp":
		h.Set(http.TrailerPrefix+"Late", "9")
	case strings.HasPrefix(step, "h") && number("h") > 0:
		w.WriteHeader(number("h"))
	case step == "panic":
		panic("a panic of the script")
	case step == "abort":
		panic(http.ErrAbortHandler)
	case step == "hijack":
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		// A handler whose client has ended its side is cancelled, and so are its own reads
		// and writes, unless it shields them.
		shield(r, func() {
			_ = c.SetDeadline(time.Now().Add(patience / 2))
			b, _ := io.ReadAll(rw)
			fmt.Fprintf(c, "hijacked %q", b)
			c.Close()
		})
		return true
	case step == "y":
		wait(r)
	case step == "ct":
		h.Set("Content-Type", "a/b")
	case step == "ctnil":
		h["Content-Type"] = nil
	case step == "date":
		h["Date"] = nil
	case step == "mb":
		_, err := io.ReadAll(io.LimitReader(r.Body, 3))
		fmt.Fprint(w, failure(err))
	}
	return false
}

// failure returns an error as a handler may show it: without addresses.
func failure(err error) string {
	var op *net.OpError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &op):
		return "net"
	}
	return err.Error()
}

// converse has a conversation, by TLS if config is not nil, and returns what came back, and how
// it ended. patience is how long the client waits to find that nothing more comes.
func converse(address string, config *tls.Config, c conversation, patience time.Duration) string {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	if config != nil {
		conn = tls.Client(conn, config)
	}
	got := make(chan string, 1)
	go func() {
		var all bytes.Buffer
		_, err := all.ReadFrom(conn)
		end := "end"
		if err != nil {
			end = "error"
		}
		if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
			end = "open"
		}
		got <- date.ReplaceAllString(all.String(), "Date: D") + " " + end
	}()
	for i, p := range c.pieces {
		if i > 0 && (len(c.pieces) < 10 || i%10 == 0) {
			<-time.After(time.Millisecond)
		}
		if _, err := io.WriteString(conn, p); err != nil {
			break
		}
	}
	if c.half {
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	return <-got
}

// same reports whether two conversations went the same way. A connection that is closed with
// unread input is reset, and how much of the answer that destroys depends on time.
func same(a, b string) bool {
	if strings.HasSuffix(b, " error") {
		a, b = b, a
	}
	// What is to be sent may go earlier than net/http sends it.
	if x, open := strings.CutSuffix(a, " open"); open {
		y, open := strings.CutSuffix(b, " open")
		return open && (strings.HasPrefix(x, y) || strings.HasPrefix(y, x))
	}
	if cut, reset := strings.CutSuffix(a, " error"); reset {
		b = strings.TrimSuffix(strings.TrimSuffix(b, " error"), " end")
		return strings.HasPrefix(b, cut) || strings.HasPrefix(cut, b)
	}
	return a == b
}

// patience is how long a client waits first. If there is a difference, it waits longer: a server
// may be slow.
const patience = 150 * time.Millisecond

// TestDiffer has random conversations with both servers. A difference is looked at again:
// what a reset destroys depends on time, and that nothing more comes does too.
func TestDiffer(t *testing.T) {
	certificate, roots := certificate()
	for _, secured := range []bool{false, true} {
		t.Run(fmt.Sprint("tls=", secured), func(t *testing.T) {
			var server, client *tls.Config
			if secured {
				server = &tls.Config{Certificates: []tls.Certificate{certificate}}
				client = &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}
			}
			differ(t, server, client)
		})
	}
}

// differ compares the two servers, with TLS if the configs are not nil.
func differ(t *testing.T, server, client *tls.Config) {
	quiet := log.New(io.Discard, "", 0)
	plain := actor(func(*http.Request) { <-time.After(2 * time.Millisecond) }, func(_ *http.Request, fn func()) { fn() })
	inTask := actor(func(r *http.Request) { _ = rondo.Sleep(r.Context(), 2*time.Millisecond) }, func(r *http.Request, fn func()) {
		_ = rondo.Shield(r.Context(), func(context.Context) error { fn(); return nil })
	})
	plainly(t, &http.Server{Handler: plain, ErrorLog: quiet, TLSConfig: server}, func(plain string) error {
		// The first patches of Go 1.26, which give the answer to CONNECT a length, read bodies
		// after the head of the answer in another way.
		connect := converse(plain, client, conversation{pieces: []string{"CONNECT / HTTP/1.1\r\nHost: h\r\n\r\n"}, half: true}, 30*time.Second)
		if strings.Contains(connect, "Content-Length") {
			t.Logf("Server does as net/http of Go 1.27: there is nothing to compare with in %s", runtime.Version())
			return nil
		}
		s := &httptask.Server{HTTP: http.Server{Handler: inTask, ErrorLog: quiet, TLSConfig: server}}
		inTasks(t, s, func(ctx context.Context, own string) error {
			return away(ctx, func() error {
				compare(t, func(c conversation, patience time.Duration) (want, got string) {
					return converse(plain, client, c, patience), converse(own, client, c, patience)
				})
				return nil
			})
		})
		return nil
	})
}

// alike reports whether the answers of net/http and ours are the same, but that net/http may still
// wait for a body that the client was not told to send, where a Server ends the connection.
func (c conversation) alike(want, got string) bool {
	if strings.Contains(strings.ToLower(strings.Join(c.pieces, "")), "expect: 100-continue") {
		if text, open := strings.CutSuffix(want, " open"); open && same(text+" end", got) {
			return true
		}
	}
	return same(want, got)
}

// had has the conversation with both servers. If the handler panics, net/http reads the rest of the
// body before it sends the last 4 KiB or less of what was written, whether the client was told to
// send that body or not: conn.serve calls reqBody.Close before c.close, which flushes. A Server
// sends, and ends the connection. So when net/http waits with a beginning of our answer sent, its
// answer is the one to a client that has ended its side.
func (c conversation) had(converse func(c conversation, patience time.Duration) (want, got string), patience time.Duration) (want, got string) {
	want, got = converse(c, patience)
	if c.keptBack(want, got) {
		c.half = true
		want, _ = converse(c, patience)
	}
	return want, got
}

// keptBack reports whether net/http waits for a body, after a panic, that a Server does not wait
// for, and has sent a beginning of the same answer.
func (c conversation) keptBack(want, got string) bool {
	text := strings.ToLower(strings.Join(c.pieces, ""))
	sent, open := strings.CutSuffix(want, " open")
	all, ended := strings.CutSuffix(got, " end")
	return strings.Contains(text, "expect: 100-continue") && (strings.Contains(text, "/panic") || strings.Contains(text, "/abort")) &&
		open && ended && len(sent) < len(all) && strings.HasPrefix(all, sent)
}

// TestKeptBack: if a handler panics whose client was not told to send its body, and has not sent
// all of it, what was written goes out, and the connection ends. These are the bytes that net/http
// sends when its client ends its side.
func TestKeptBack(t *testing.T) {
	t.Parallel()
	handler := actor(func(*http.Request) {}, func(_ *http.Request, fn func()) { fn() })
	quiet := log.New(io.Discard, "", 0)
	const expects = " HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
	rows := []conversation{
		{pieces: []string{"POST /h103/w2049/w10/panic" + expects + "Content-Length: 50\r\n\r\nb"}},
		{pieces: []string{"POST /w2048/hx/w70000/panic" + expects + "Content-Length: 20000\r\n\r\n", strings.Repeat("b", 15000)}},
		{pieces: []string{post("", "X: y"), "DELETE /w1000/w2049/panic" + expects + "Transfer-Encoding: chunked\r\n\r\n", "1d;ext\r\nbbbb"}},
		{pieces: []string{"POST /w5000/hclose/hx/abort" + expects + "Transfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n20\r\nbb", "bb"}},
		{pieces: []string{"POST /abort" + expects + "Content-Length: 50\r\n\r\nb"}},
	}
	plainly(t, &http.Server{Handler: handler, ErrorLog: quiet}, func(plain string) error {
		inTasks(t, &httptask.Server{HTTP: http.Server{Handler: handler, ErrorLog: quiet}}, func(ctx context.Context, own string) error {
			return away(ctx, func() error {
				var wg sync.WaitGroup
				for _, c := range rows {
					wg.Go(func() {
						got := converse(own, nil, c, time.Minute)
						want := converse(plain, nil, conversation{c.pieces, true}, time.Minute)
						if got != want || !strings.HasSuffix(got, " end") {
							t.Errorf("%v\nnet/http: %s\ntasks: %s", c, condensed(want), condensed(got))
						}
					})
				}
				wg.Wait()
				return nil
			})
		})
		return nil
	})
}

// compare has conversations with two servers, sixteen at once.
func compare(t *testing.T, converse func(c conversation, patience time.Duration) (want, got string)) {
	conversations := *differs
	if testing.Short() {
		conversations = min(conversations, 100)
	}
	var mu sync.Mutex
	next, differ := 0, 0
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= conversations {
					return
				}
				c := newConversation(rand.New(rand.NewPCG(*differSeed+uint64(i), 0)))
				if strings.HasPrefix(runtime.Version(), "go1.26") && c.since127() {
					continue
				}
				patience := patience
				want, got := c.had(converse, patience)
				for !c.alike(want, got) && patience < 30*time.Second {
					patience *= 4
					want, got = c.had(converse, patience)
				}
				if c.alike(want, got) {
					continue
				}
				mu.Lock()
				if differ++; differ < 30 {
					k := 0
					for k < min(len(want), len(got)) && want[k] == got[k] {
						k++
					}
					t.Errorf("seed %d: %v\nat %d net/http: %s\ntasks: %s", *differSeed+uint64(i), c, k,
						condensed(fmt.Sprintf("%q", want[max(0, k-200):])), condensed(fmt.Sprintf("%q", got[max(0, k-200):])))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d of %d differ", differ, conversations)
}
