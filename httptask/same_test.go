package httptask_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/internal/peer"
)

// A sameRow is a handler and the bytes that a client sends.
type sameRow struct {
	name    string
	handler http.HandlerFunc
	send    string
	late    string // is sent after send, when handled says so
	log     string // what the servers log, without the time and addresses
	half    bool   // the client ends its side after that
	closes  bool   // the connection ends although the client does not ask for it
}

const get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

func post(body string, headers ...string) string {
	return lines(append([]string{"POST / HTTP/1.1", "Host: h", fmt.Sprint("Content-Length: ", len(body))}, headers...)...) + "\r\n" + body
}

func say(w io.Writer, text string) { _, _ = io.WriteString(w, text) }

// handled is sent to by a handler after which the rest of its body may come.
var handled = make(chan bool, 1)

var sameRows = []sameRow{
	{name: "hello", handler: func(w http.ResponseWriter, r *http.Request) { say(w, "hello") }, send: get + get},
	{name: "nothing", handler: func(w http.ResponseWriter, r *http.Request) {}, send: get},
	{name: "status", handler: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(418) }, send: get},
	{name: "http/1.0 keep-alive", handler: func(w http.ResponseWriter, r *http.Request) { say(w, r.Proto) },
		send: strings.Repeat("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 2)},
	{name: "http/1.0 keep-alive, no length", handler: func(w http.ResponseWriter, r *http.Request) {
		say(w, r.Proto)
		w.(http.Flusher).Flush()
	}, send: "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", closes: true},
	{name: "http/1.0", handler: func(w http.ResponseWriter, r *http.Request) { say(w, r.Proto) }, send: "GET / HTTP/1.0\r\n\r\n", closes: true},
	{name: "head", handler: func(w http.ResponseWriter, r *http.Request) { say(w, "hello") }, send: "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n" + get},
	{name: "pipelined", handler: func(w http.ResponseWriter, r *http.Request) { say(w, r.URL.Path) },
		send: strings.Repeat(get, 20)},
	{name: "2048 bytes", handler: writes(2048, 1), send: get},
	{name: "2049 bytes", handler: writes(2049, 1), send: get},
	{name: "2048 bytes and one", handler: func(w http.ResponseWriter, r *http.Request) {
		say(w, strings.Repeat("x", 2048))
		say(w, "y")
	}, send: get},
	{name: "small writes", handler: writes(100, 500), send: get},
	{name: "odd writes", handler: writes(1777, 61), send: get},
	{name: "large writes", handler: writes(100_000, 3), send: get},
	{name: "small and large writes", handler: func(w http.ResponseWriter, r *http.Request) {
		for i := range 60 {
			say(w, strings.Repeat("x", (i*i*37)%9000))
		}
	}, send: get},
	{name: "content length", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "5000")
		writes(500, 10)(w, r)
	}, send: get + get},
	{name: "too much for the content length", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "3")
		_, err := io.WriteString(w, "four")
		if !errors.Is(err, http.ErrContentLength) {
			panic(err)
		}
		say(w, "abc")
	}, send: get, closes: true},
	{name: "too little for the content length", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "3")
		say(w, "ab")
	}, send: get, closes: true},
	{name: "no such content length", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "three")
		say(w, "abc")
	}, send: get, log: `http: invalid Content-Length of "three"`},
	{name: "content length and chunks", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "5")
		w.Header().Set("Transfer-Encoding", "chunked")
		say(w, "hello")
	}, send: get + "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n",
		log: `http: WriteHeader called with both Transfer-Encoding of "chunked" and a Content-Length of 5`},
	{name: "chunks for http/1.0", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Transfer-Encoding", "chunked")
		say(w, "hello")
	}, send: "GET / HTTP/1.0\r\n\r\n", closes: true},
	{name: "neither content length nor chunks", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Transfer-Encoding", "identity")
		say(w, "hello")
	}, send: get, closes: true},
	{name: "no body allowed", handler: func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(map[string]int{"/304": 304}[r.URL.Path] | 204&^(-map[string]int{"/304": 1}[r.URL.Path]))
		if _, err := io.WriteString(w, "hello"); !errors.Is(err, http.ErrBodyNotAllowed) {
			panic(err)
		}
	}, send: get + "GET /304 HTTP/1.1\r\nHost: h\r\n\r\n" + get},
	{name: "headers after the status", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Before", "1")
		w.WriteHeader(200)
		w.Header().Set("After", "1")
		say(w, "x")
	}, send: get},
	{name: "headers after a write", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Before", "1")
		say(w, "x")
		w.Header().Set("After", "1")
	}, send: get},
	{name: "flush", handler: func(w http.ResponseWriter, r *http.Request) {
		for i := range 5 {
			fmt.Fprintln(w, "event", i)
			w.(http.Flusher).Flush()
		}
		say(w, strings.Repeat("x", 3000))
	}, send: get},
	{name: "strings and bytes", handler: func(w http.ResponseWriter, r *http.Request) {
		for i := range 40 {
			text := strings.Repeat("x", (i*i*131)%7000)
			if i%3 == 0 {
				say(w, text)
			} else {
				_, _ = w.Write([]byte(text))
			}
			if i%11 == 0 {
				w.(http.Flusher).Flush()
			}
		}
	}, send: get},
	{name: "flush first", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Before", "1")
		w.(http.Flusher).Flush()
		w.Header().Set("After", "1")
		w.WriteHeader(500)
		say(w, "x")
	}, send: get, log: "http: superfluous response.WriteHeader call from F"},
	{name: "flush that fails", handler: func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		_ = c.SetWriteDeadline(time.Unix(1, 0))
		if err := c.Flush(); !errors.Is(err, os.ErrDeadlineExceeded) {
			panic(err)
		}
		say(w, "x")
		w.WriteHeader(500)
	}, send: get, closes: true, log: "http: superfluous response.WriteHeader call from F"},
	{name: "trailers", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Sum, If-Match, Host")
		say(w, "x")
		for _, name := range []string{"Sum", "If-Match", "Host"} { // the others are no trailers
			w.Header().Set(name, "1")
		}
		w.Header().Set(http.TrailerPrefix+"Late", "2")
		w.(http.Flusher).Flush()
	}, send: get},
	{name: "a trailer that is set early", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(http.TrailerPrefix+"Late", "2")
		say(w, "x")
	}, send: get},
	{name: "fields with all names of a character", handler: func(w http.ResponseWriter, r *http.Request) {
		for b := range 256 {
			w.Header()[string([]byte{byte(b)})] = []string{"x"}
		}
	}, send: get},
	{name: "informational", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusProcessing)
		say(w, "x")
	}, send: get},
	{name: "informational with a length, and after a write", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1")
		w.WriteHeader(http.StatusEarlyHints)
		say(w, "x")
		w.WriteHeader(http.StatusEarlyHints)
	}, send: get, log: "http: superfluous response.WriteHeader call from F"},
	{name: "two statuses", handler: func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(201)
		w.WriteHeader(500)
	}, send: get, log: "http: superfluous response.WriteHeader call from F"},
	{name: "an error of net/http after the status", handler: func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(201)
		http.Error(w, "x", 500)
	}, send: get, log: "http: superfluous response.WriteHeader call from F"},
	{name: "no such status", handler: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(7) }, send: get,
		log: "http: panic serving A: invalid WriteHeader code 7", closes: true},
	{name: "no such informational status", handler: func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(150)
		say(w, "x")
	}, send: get},
	{name: "sniffed", handler: func(w http.ResponseWriter, r *http.Request) {
		say(w, "<html>")
		say(w, "<body>")
	}, send: get},
	{name: "bytes read", handler: func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%d %.20q %v %d", len(b), b, err, r.ContentLength)
	}, send: post("hello") + post(strings.Repeat("x", 4096)) + post(strings.Repeat("x", 4097)) + post(strings.Repeat("x", 300_000)) + post("")},
	{name: "read in parts", handler: func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, 3)
		for {
			n, err := r.Body.Read(b)
			fmt.Fprintf(w, "%q %v;", b[:n], err)
			if err != nil {
				return
			}
		}
	}, send: post("hello you") + post("hello")},
	{name: "read after the end and after Close", handler: func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, err := r.Body.Read(make([]byte, 1))
		fmt.Fprint(w, err, r.Body.Close())
		_, err = r.Body.Read(make([]byte, 1))
		fmt.Fprint(w, err)
	}, send: post("hello") + post(strings.Repeat("x", 9000))},
	{name: "closed unread", handler: func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Body.Close())
	}, send: post(strings.Repeat("x", 9000)) + get},
	{name: "a Read past its deadline, and the rest unread", handler: func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		_ = c.SetReadDeadline(time.Unix(1, 0))
		n, err := r.Body.Read(make([]byte, 10))
		_ = c.SetReadDeadline(time.Time{})
		if r.Method == "POST" {
			handled <- true
		}
		fmt.Fprint(w, n, errors.Is(err, os.ErrDeadlineExceeded))
	}, send: lines("POST / HTTP/1.1", "Host: h", "Content-Length: 5000", ""), late: strings.Repeat("x", 5000) + get},
	{name: "too much unread, and other words in Connection", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "x, close")
		say(w, "x")
	}, send: post(strings.Repeat("x", 400_000)), closes: true},
	{name: "a file and more", handler: func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open("doc.go")
		if err != nil {
			panic(err)
		}
		defer f.Close()
		_, _ = io.Copy(w, f)
		for i := range 40 {
			say(w, strings.Repeat("x", 7*i))
		}
	}, send: get},
	{name: "an empty file, and a status", handler: func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(os.DevNull)
		if err != nil {
			panic(err)
		}
		defer f.Close()
		_, _ = io.Copy(w, f)
		w.WriteHeader(201)
		say(w, "x")
	}, send: get},
	{name: "a file after a write, and a large write", handler: func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open("doc.go")
		if err != nil {
			panic(err)
		}
		defer f.Close()
		say(w, "x")
		_, _ = io.Copy(w, f)
		_, _ = w.Write(make([]byte, 5000))
	}, send: get},
	{name: "a part of a file and more, of a known length", handler: func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open("doc.go")
		if err != nil {
			panic(err)
		}
		defer f.Close()
		w.Header().Set("Content-Length", "1000")
		_, _ = io.CopyN(w, f, 900)
		say(w, strings.Repeat("x", 100))
	}, send: get},
	{name: "parts of a file", handler: func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "doc.go") },
		send: part("0-9") + part("5-3000") + part("99999-") + "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "parts of a text", handler: func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "x.txt", time.Unix(100, 0), strings.NewReader(strings.Repeat("0123456789", 1000)))
	}, send: part("0-9") + part("5-3000") + lines("GET / HTTP/1.1", "Host: h", "If-Modified-Since: Thu, 01 Jan 1970 00:01:40 GMT", "")},
	{name: "compressed by a writer with Unwrap", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := compressing{w, gzip.NewWriter(w)}
		for range 2 {
			say(z, strings.Repeat("hello", 1000))
			if err := errors.Join(z.Flush(), http.NewResponseController(z).Flush()); err != nil {
				panic(err)
			}
		}
		_ = z.Close()
	}, send: get},
	{name: "upgrade that is none", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "upgrade")
		say(w, "x")
	}, send: "GET / HTTP/1.0\r\n\r\n", closes: true},
	{name: "empty content length", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Length"] = []string{""}
		say(w, "x")
	}, send: get},
	{name: "closed in its middle and then read", handler: func(w http.ResponseWriter, r *http.Request) {
		n, read := r.Body.Read(make([]byte, 2))
		err := r.Body.Close()
		m, again := r.Body.Read(make([]byte, 2))
		fmt.Fprint(w, n, read, err, m, again)
	}, send: post("hello") + post(strings.Repeat("x", 9000))},
	{name: "unread", handler: func(w http.ResponseWriter, r *http.Request) { say(w, "x") },
		send: post(strings.Repeat("x", 9000)) + get},
	{name: "chunked", handler: func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%q %v %v %v", b, err, r.Trailer, r.TransferEncoding)
	}, send: lines("POST / HTTP/1.1", "Host: h", "Transfer-Encoding: chunked", "Trailer: Sum", "", "5", "hello", "1", " ", "0", "Sum: 7", "") + get},
	{name: "chunked, an unannounced trailer", handler: func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%q %v %v", b, err, r.Trailer)
	}, send: lines("POST / HTTP/1.1", "Host: h", "Transfer-Encoding: chunked", "", "5", "hello", "0", "Sum: 7", "") + get},
	{name: "chunked, an unannounced trailer, read in parts", handler: func(w http.ResponseWriter, r *http.Request) {
		for n, err := 0, error(nil); err == nil; fmt.Fprint(w, n, err, r.Trailer) {
			n, err = r.Body.Read(make([]byte, 3))
		}
	}, send: lines("POST / HTTP/1.1", "Host: h", "Transfer-Encoding: chunked", "", "5", "hello", "0", "Sum: 7", "") + get},
	{name: "chunked, malformed", handler: func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%q %v", b, err)
	}, send: lines("POST / HTTP/1.1", "Host: h", "Transfer-Encoding: chunked", "", "5", "hello", "zzz", "", ""), closes: true},
	{name: "continue", handler: func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%q %v %v", b, err, r.Context().Err())
	}, send: post("hello", "Expect: 100-continue")},
	{name: "continue, said by the handler", handler: func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusContinue)
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%q %v", b, err)
	}, send: post("hello", "Expect: 100-continue")},
	{name: "continue, read in part", handler: func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadFull(r.Body, make([]byte, 2))
		fmt.Fprint(w, err)
	}, send: post(strings.Repeat("x", 40_000), "Expect: 100-continue"), closes: true},
	{name: "continue, after a hijack", handler: func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(rw, "%q %v", b, err)
		rw.Flush()
	}, send: post("hello", "Expect: 100-continue"), closes: true},
	{name: "no continue", handler: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) },
		send: post("hello", "Expect: 100-continue"), closes: true},
	{name: "form", handler: func(w http.ResponseWriter, r *http.Request) { say(w, r.FormValue("a")) },
		send: post("a=b", "Content-Type: application/x-www-form-urlencoded")},
	{name: "limited", handler: limited, send: post("1234567890")},
	{name: "panic", handler: func(w http.ResponseWriter, r *http.Request) { panic("boom") }, send: get,
		log: "http: panic serving A: boom", closes: true},
	{name: "panic after 10,000 bytes", handler: func(w http.ResponseWriter, r *http.Request) {
		writes(100, 100)(w, r)
		panic(errors.New("boom"))
	}, send: get, log: "http: panic serving A: boom", closes: true},
	{name: "abort", handler: func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, send: get, closes: true},
	{name: "hijack", handler: func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		b := make([]byte, rw.Reader.Buffered())
		_, err = io.ReadFull(rw, b)
		fmt.Fprintf(rw, "HTTP/1.1 101 Switching\r\n\r\n%q %v", b, err)
		rw.Flush()
		w.WriteHeader(200)
		_, err = w.Write([]byte("x"))
		fmt.Fprintf(c, "%v", err)
	}, send: get + "more", closes: true,
		log: "http: response.WriteHeader on hijacked connection from F\nhttp: response.Write on hijacked connection from F"},
	{name: "hijack after a write, twice", handler: func(w http.ResponseWriter, r *http.Request) {
		say(w, "it is not sent")
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		_, _, err = w.(http.Hijacker).Hijack()
		fmt.Fprint(rw, err)
		rw.Flush()
	}, send: get, closes: true},
	{name: "controller", handler: func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		fmt.Fprint(w, c.SetReadDeadline(time.Now().Add(time.Hour)), c.SetWriteDeadline(time.Now().Add(time.Hour)), c.EnableFullDuplex(), c.Flush())
	}, send: get},
	{name: "interfaces", handler: func(w http.ResponseWriter, r *http.Request) {
		_, flusher := w.(http.Flusher)
		_, hijacker := w.(http.Hijacker)
		_, pusher := w.(http.Pusher)
		_, strings := w.(io.StringWriter)
		_, from := w.(io.ReaderFrom)
		//lint:ignore SA1019 old programs ask for it
		_, notifier := w.(http.CloseNotifier)
		_, reads := w.(interface{ SetReadDeadline(time.Time) error })
		_, writes := w.(interface{ SetWriteDeadline(time.Time) error })
		_, duplex := w.(interface{ EnableFullDuplex() error })
		fmt.Fprint(w, flusher, hijacker, pusher, strings, from, notifier, reads, writes, duplex)
	}, send: get},
	{name: "copy of a short reader", handler: copies(0, 100), send: get},
	{name: "copy of a long reader", handler: copies(0, 100_000), send: get},
	{name: "copy after a write", handler: copies(100, 100_000), send: get},
	{name: "copy after many writes", handler: copies(5000, 1000), send: get},
	{name: "copy of nothing", handler: copies(100, 0), send: get},
	{name: "copy of a known length", handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10000")
		copies(0, 10_000)(w, r)
	}, send: get},
	{name: "unread body that comes late", handler: func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" { // most often the server waits for the body then
			time.AfterFunc(20*time.Millisecond, func() { handled <- true })
		}
		say(w, r.URL.Path)
	}, send: lines("POST / HTTP/1.1", "Host: h", "Content-Length: 100") + "\r\n", late: strings.Repeat("b", 100)},
	{name: "closed body that comes late", handler: func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" { // most often the server waits for the body then
			time.AfterFunc(20*time.Millisecond, func() { handled <- true })
		}
		fmt.Fprint(w, r.Body.Close())
	}, send: lines("POST / HTTP/1.1", "Host: h", "Content-Length: 100") + "\r\n", late: strings.Repeat("b", 100)},
	{name: "hijacked body", handler: hijackAll, send: post(strings.Repeat("b", 100)) + "after", half: true, closes: true},
	{name: "hijacked rest of a body", handler: func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadFull(r.Body, make([]byte, 10)); err != nil {
			panic(err)
		}
		hijackAll(w, r)
	}, send: post("0123456789the rest of it") + "after", half: true, closes: true},
	{name: "hijacked long body", handler: hijackAll, send: lines("POST / HTTP/1.1", "Host: h", "Content-Length: 8000", "", strings.Repeat("b", 8000)),
		half: true, closes: true},
	{name: "context", handler: func(w http.ResponseWriter, r *http.Request) {
		_, server := r.Context().Value(http.ServerContextKey).(*http.Server)
		fmt.Fprint(w, server, r.Context().Value(http.LocalAddrContextKey) != nil, r.Context().Err())
	}, send: get},
	{name: "an option that only ends like close", handler: func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Close) },
		send: lines("GET / HTTP/1.1", "Host: h", "Connection: xclose", "", "") + lines("GET / HTTP/1.1", "Host: h", "Connection: closed", "", "")},
	{name: "another expectation", handler: func(w http.ResponseWriter, r *http.Request) { panic("it is called") },
		send: post("", "Expect: more"), closes: true},
	{name: "an empty line after a body", handler: func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%q %v", b, err)
	}, send: post("hello") + "\r\n" + get},
	{name: "all characters of hosts and fields", handler: func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%q %q", r.Host, r.Header) },
		send: lines("GET / HTTP/1.1", "Host: !$%&()*+,-.:;='[]_~09azAZ", "!#$%&'*+-.^_`|~09azAZ: a", "")},
	{name: "no character of a host", handler: func(w http.ResponseWriter, r *http.Request) { say(w, r.Host) },
		send: lines("GET / HTTP/1.1", "Host: a/b", ""), closes: true},
	{name: "options of the server", handler: func(w http.ResponseWriter, r *http.Request) { say(w, r.RequestURI) },
		send: lines("OPTIONS * HTTP/1.1", "Host: h", "Content-Length: 4096", "") + strings.Repeat("x", 4096) + get},
	{name: "malformed request", handler: func(w http.ResponseWriter, r *http.Request) {}, send: "GET\r\n\r\n", closes: true},
}

// part is a request for a part of something.
func part(of string) string {
	return lines("GET / HTTP/1.1", "Host: h", "Range: bytes="+of, "")
}

// A compressing is the writer of a middleware that compresses answers.
type compressing struct {
	http.ResponseWriter
	*gzip.Writer
}

func (c compressing) Write(p []byte) (int, error) { return c.Writer.Write(p) }
func (c compressing) Header() http.Header         { return c.ResponseWriter.Header() }
func (c compressing) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// copies returns a handler that writes some bytes and then copies some of a reader.
func copies(first, then int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		say(w, strings.Repeat("x", first))
		if n, err := io.Copy(w, struct{ io.Reader }{strings.NewReader(strings.Repeat("y", then))}); n != int64(then) || err != nil {
			panic(fmt.Sprint(n, err))
		}
	}
}

// hijackAll takes the connection over, and sends back what the client sends until it ends its
// side.
func hijackAll(w http.ResponseWriter, r *http.Request) {
	c, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer c.Close()
	all := func() {
		b, err := io.ReadAll(rw)
		fmt.Fprintf(c, "%d %.100q %v", len(b), b, err)
	}
	if rondo.LoopOf(r.Context()) == nil {
		all()
		return
	}
	_ = rondo.Shield(r.Context(), func(context.Context) error { all(); return nil })
}

// writes returns a handler that writes n bytes so many times.
func writes(n, times int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := range times {
			b := make([]byte, n)
			for j := range b {
				b[j] = 'a' + byte(i+j)%26
			}
			if k, err := w.Write(b); k != n || err != nil {
				panic(fmt.Sprint(k, err))
			}
		}
	}
}

// limited reads a body that is too long for it.
func limited(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close") // net/http sets it here; see Handler
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 5))
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	fmt.Fprintf(w, "%q %v %v", b, err, tooLarge)
}

// TestSame sends the same bytes to the same handler, plain, of a Server and of a Handler, and
// wants the same bytes back, and the same words in the log.
func TestSame(t *testing.T) {
	for _, row := range sameRows {
		t.Run(row.name, func(t *testing.T) {
			var want, got, behind string
			var wantLog, gotLog, behindLog logbook
			plainly(t, &http.Server{Handler: row.handler, ErrorLog: newLog(&wantLog)}, func(address string) (err error) {
				want, err = talk(address, row)
				return err
			})
			s := &httptask.Server{HTTP: http.Server{Handler: row.handler, ErrorLog: newLog(&gotLog)}}
			inTasks(t, s, func(ctx context.Context, address string) error {
				return away(ctx, func() (err error) {
					got, err = talk(address, row)
					return err
				})
			})
			run(t, func(ctx context.Context) error {
				h := httptask.Handler(ctx, row.handler)
				return away(ctx, func() (err error) {
					plainly(t, &http.Server{Handler: h, ErrorLog: newLog(&behindLog)}, func(address string) error {
						behind, err = talk(address, row)
						return err
					})
					return err
				})
			})
			if got != want || behind != want {
				t.Errorf("Server:\n%.9000q\nHandler:\n%.9000q\nplain:\n%.9000q", got, behind, want)
			}
			for server, log := range map[string]*logbook{"Server": &gotLog, "Handler": &behindLog, "net/http": &wantLog} {
				if got := firstWords(log.String()); got != row.log {
					t.Errorf("the log of %s:\n%s\nwanted:\n%s", server, got, row.log)
				}
			}
		})
	}
}

// TestConnect: an answer that opens a tunnel has no length, no chunks and no "Connection: close",
// as what follows belongs to the tunnel; another answer to CONNECT has. Both end the connection. So
// it is in net/http, but for the first patches of Go 1.26.
func TestConnect(t *testing.T) {
	if !peer.Watches {
		return // net/http has the connections
	}
	const typed, hello = "Content-Type: text/plain; charset=utf-8\r\n", "\r\nhello"
	for _, c := range []struct {
		status     int
		key, value string // of the handler's header
		want       string
	}{
		{200, "X", "1", "HTTP/1.1 200 OK\r\nX: 1\r\nDate: D\r\n" + typed + hello},
		{200, "Content-Length", "5", "HTTP/1.1 200 OK\r\nDate: D\r\n" + typed + hello},
		{299, "Transfer-Encoding", "chunked", "HTTP/1.1 299 status code 299\r\nDate: D\r\n" + hello},
		{300, "Content-Length", "5", "HTTP/1.1 300 Multiple Choices\r\nContent-Length: 5\r\nDate: D\r\n" + typed + "Connection: close\r\n" + hello},
	} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(c.key, c.value)
			w.WriteHeader(c.status)
			say(w, "hello")
		})
		inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h}}, func(ctx context.Context, address string) error {
			return away(ctx, func() error {
				got, err := talk(address, sameRow{send: lines("CONNECT a:1 HTTP/1.1", "Host: a:1", "", ""), closes: true})
				if got != c.want {
					t.Errorf("%d with %s:\n%q, want\n%q", c.status, c.key, got, c.want)
				}
				return err
			})
		})
	}
}

var date = regexp.MustCompile(`Date: [^\r]*`)

// talk sends the bytes of a row, and returns all that comes back, but for the date.
func talk(address string, row sameRow) (string, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return "", err
	}
	send := row.send
	if !row.closes {
		send += "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
	}
	go func() {
		_, _ = io.WriteString(c, row.send)
		if row.late != "" {
			<-handled
		}
		_, _ = io.WriteString(c, row.late+strings.TrimPrefix(send, row.send))
		if row.half {
			_ = c.(*net.TCPConn).CloseWrite()
		}
	}()
	all, err := io.ReadAll(bufio.NewReader(c))
	if err != nil && !strings.Contains(err.Error(), "reset") {
		return "", err
	}
	return date.ReplaceAllString(string(all), "Date: D"), nil
}

var (
	goroutine = regexp.MustCompile(`(?s)\n\ngoroutine.*|\ngoroutine.*`)
	address   = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	callers   = regexp.MustCompile(`from \S+/httptask_test\.\S+ \(same_test\.go:\d+\)`)
)

// firstWords returns a log without stacks, addresses, repetitions, and the names of handlers.
func firstWords(log string) string {
	log = goroutine.ReplaceAllString(log, "")
	log = address.ReplaceAllString(log, "A")
	log = strings.TrimSpace(callers.ReplaceAllString(log, "from F"))
	return strings.Join(slices.Compact(strings.Split(log, "\n")), "\n")
}
