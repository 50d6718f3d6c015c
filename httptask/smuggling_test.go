//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package httptask_test

// Requests of which two servers in a row may read different ones: what net/http refuses a
// Server must refuse, with the same status, and read the rest in the same way.

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/httptask"
)

// smuggled are the heads of requests, without the field Host, and their bodies.
var smuggled = []string{
	"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
	"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
	"Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
	"Content-Length: 3, 3\r\n\r\nabc",
	"Content-Length: +3\r\n\r\nabc",
	"Content-Length: -3\r\n\r\nabc",
	"Content-Length: 0x3\r\n\r\nabc",
	"Content-Length: 03\r\n\r\nabc",
	"Content-Length: 3 \r\n\r\nabc",
	"Content-Length:\t3\r\n\r\nabc",
	"Content-Length: 3\x00\r\n\r\nabc",
	"Content-Length: \r\n\r\nabc",
	"Content-Length: 3;\r\n\r\nabc",
	"Content-Length: 9223372036854775808\r\n\r\nabc",
	"Content-Length : 3\r\n\r\nabc",
	"Content-Length\r\n\r\nabc",
	" Content-Length: 3\r\n\r\nabc",
	"X: y\r\n Content-Length: 3\r\n\r\nabc",
	"X: y\r\n\tz\r\n\r\n",
	"X: y\nContent-Length: 3\n\nabc",
	"X: y\rContent-Length: 3\r\n\r\nabc",
	"X: \x00\r\n\r\n",
	"X\x00: y\r\n\r\n",
	": y\r\n\r\n",
	"X(: y\r\n\r\n",
	"X: \x7f\r\n\r\n",
	"X: \xff\r\n\r\n",
	"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
	"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
	"Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n",
	"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
	"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
	"Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n",
	"Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n",
	"Transfer-Encoding: chunked \r\n\r\n0\r\n\r\n",
	"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
	"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
	"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
	"Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
	"Transfer_Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
	"Connection: Content-Length\r\nContent-Length: 3\r\n\r\nabc",
	"Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	chunks("3\r\nabc\r\n0\r\n\r\n"),
	chunks("3;ext=1\r\nabc\r\n0;last\r\n\r\n"),
	chunks("3;" + strings.Repeat("x", 5000) + "\r\nabc\r\n0\r\n\r\n"),
	chunks("3 \r\nabc\r\n0\r\n\r\n"),
	chunks("3\t\r\nabc\r\n0\r\n\r\n"),
	chunks(" 3\r\nabc\r\n0\r\n\r\n"),
	chunks("+3\r\nabc\r\n0\r\n\r\n"),
	chunks("-3\r\nabc\r\n0\r\n\r\n"),
	chunks("0x3\r\nabc\r\n0\r\n\r\n"),
	chunks("3_0\r\nabc\r\n0\r\n\r\n"),
	chunks("\r\nabc\r\n0\r\n\r\n"),
	chunks("3\nabc\n0\n\n"),
	chunks("3\r\nabc0\r\n\r\n"),
	chunks("3\r\nabcd\r\n0\r\n\r\n"),
	chunks("3\rabc\r\n0\r\n\r\n"),
	chunks("3\r\nabc\r\n00000000000000000000\r\n\r\n"),
	chunks("ffffffffffffffff\r\nabc\r\n0\r\n\r\n"),
	chunks("10000000000000000\r\nabc\r\n0\r\n\r\n"),
	chunks("3\r\nabc\r\n0\r\nSum: 7\r\n\r\n"),
	chunks("3\r\nabc\r\n0\r\nContent-Length: 7\r\n\r\n"),
	chunks("3\r\nabc\r\n0\r\nHost: other\r\n\r\n"),
	chunks("3\r\nabc\r\n0\r\n" + strings.Repeat("X: y\r\n", 100) + "\r\n"),
	chunks("3\r\nabc\r\n0\r\nX: " + strings.Repeat("y", 5000) + "\r\n\r\n"),
	chunks("3\r\nabc\r\n0\r\nbad\r\n\r\n"),
	chunks("3\r\nabc\r\n0\r\n X: y\r\n\r\n"),
	"X: " + strings.Repeat("y", 10_000) + "\r\n\r\n",
	strings.Repeat("x", 10_000) + ": y\r\n\r\n",
	strings.Repeat("X: y\r\n", 400) + "\r\n",
	"Host: other\r\n\r\n",
	"Host: a b\r\n\r\n",
	"Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
	"Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
}

func chunks(body string) string { return "Transfer-Encoding: chunked\r\n\r\n" + body }

// requestLines begin requests. The first patches of Go 1.26 answer CONNECT differently, which
// TestDiffer compares.
var requestLines = []string{
	"GET / HTTP/1.1", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1", "GET /\tHTTP/1.1", "GET / HTTP/1.1\x00", "G\x00T / HTTP/1.1",
	"GET / HTTP/1.01", "GET / HTTP/01.1", "GET / http/1.1", "GET / HTTP/1", "GET /", "GET", "", "GET / HTTP/2.0", "PRI * HTTP/2.0", "GET /\x01 HTTP/1.1",
	"GET /% HTTP/1.1", "GET //x HTTP/1.1", "GET http://other/ HTTP/1.1", "GET http://a@other/ HTTP/1.1", "GET other:80 HTTP/1.1",
	"OPTIONS * HTTP/1.1", "GET * HTTP/1.1", "GET / HTTP/1.0", "\r\nGET / HTTP/1.1", "GET /" + strings.Repeat("x", 5000) + " HTTP/1.1",
}

// TestSmuggling sends each at once and byte by byte, and a request after it, which both servers
// must find at the same place. Each conversation ends, since the client ends its side.
func TestSmuggling(t *testing.T) {
	var requests []string
	for _, head := range smuggled {
		for _, proto := range []string{"1.1", "1.0"} {
			requests = append(requests, "POST /first HTTP/"+proto+"\r\nHost: h\r\n"+head)
		}
	}
	for _, line := range requestLines {
		requests = append(requests, line+"\r\nHost: h\r\n\r\n")
	}
	h := func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "[%s %q %q %q %d %v %v %q %v]", r.Method, r.RequestURI, r.Host, r.Proto, r.ContentLength, r.TransferEncoding, r.Close, b, err)
	}
	plainly(t, &http.Server{Handler: http.HandlerFunc(h), ErrorLog: silent}, func(plain string) error {
		s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(h), ErrorLog: silent}}
		inTasks(t, s, func(ctx context.Context, own string) error {
			return away(ctx, func() error {
				t.Run("all", func(t *testing.T) {
					for _, text := range requests {
						t.Run("", func(t *testing.T) {
							t.Parallel()
							text += "GET /second HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
							for _, pieces := range [][]string{{text}, bytewise(text)} {
								c := conversation{pieces: pieces, half: true}
								want, got := converse(plain, nil, c, time.Minute), converse(own, nil, c, time.Minute)
								if !same(want, got) {
									t.Errorf("%.300q in %d pieces\nnet/http: %.500q\nServer: %.500q", text, len(pieces), want, got)
								}
							}
						})
					}
				})
				return nil
			})
		})
		return nil
	})
}

// bytewise returns the first bytes of text one by one, and the rest.
func bytewise(text string) (pieces []string) {
	for i := range min(len(text), 200) {
		pieces = append(pieces, text[i:i+1])
	}
	if len(text) > 200 {
		pieces = append(pieces, text[200:])
	}
	return pieces
}
