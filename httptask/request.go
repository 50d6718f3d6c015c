package httptask

// Requests of an engine: http.ReadRequest reads them, and the rules by which net/http's
// server refuses some follow here, with its statuses and texts.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/textproto"
	"strings"
)

// readRequest reads the head of a request.
func (n *connection) readRequest(x *scratch) (*reply, error) {
	e := n.engine
	var by = n.now()
	if e.http.ReadTimeout > 0 {
		by = by.Add(e.http.ReadTimeout)
	}
	if n.post { // some clients send a line too much (RFC 7230, section 3.5)
		peek, _ := x.in.Peek(4)
		_, _ = x.in.Discard(len(peek) - len(bytes.TrimLeft(peek, "\r\n")))
	}
	most := maxValues(e.http)
	r, host, err := readHead(x, most)
	if err != nil {
		if x.src.remain <= 0 {
			err = errTooLarge
		}
		return nil, err
	}
	if r.ProtoMajor != 1 && !(r.ProtoMajor == 2 && r.ProtoMinor == 0 && r.Method == "PRI" && r.RequestURI == "*") {
		return nil, statusError{http.StatusHTTPVersionNotSupported, "unsupported protocol version"}
	}
	n.post = r.Method == http.MethodPost
	x.src.remain = unlimited
	if most > 0 && countValues(r, host) > most {
		return nil, errTooLarge
	}
	preface := r.Method == "PRI" && len(r.Header) == 0 && !host.has && r.URL.Path == "*" && r.Proto == "HTTP/2.0"
	if err := checkHead(r, host, preface); err != nil {
		return nil, err
	}
	r.RemoteAddr, r.TLS = n.remote, n.tls
	if e.http.ReadTimeout > 0 {
		n.readBy(by)
	} else {
		n.readBy(zeroTime)
	}
	return newReply(n, x, r, preface), nil
}

// A hostField is the header Host, which ReadRequest takes out.
type hostField struct {
	value string
	has   bool
}

// readHead calls ReadRequest. The field Host is looked up in the bytes if the request does
// not show it. They stay in the buffer if the head is there; else they are copied. A head of more
// than most values is not read to its end; 0 means no limit.
func readHead(x *scratch, most int) (r *http.Request, host hostField, err error) {
	if x.in.Buffered() == 0 {
		if _, err := x.in.Peek(1); err != nil {
			return nil, hostField{}, err
		}
	}
	head, _ := x.in.Peek(x.in.Buffered())
	if x.src.copies = !bytes.Contains(head, []byte("\r\n\r\n")); x.src.copies {
		x.src.raw = append(x.src.raw[:0], head...)
		x.src.lines = math.MaxInt
		if most > 0 { // what comes with the head, such as a body, counts too
			x.src.lines = most + 2*inMax
		}
	}
	r, err = http.ReadRequest(x.in)
	if x.src.copies {
		x.src.copies, head = false, x.src.raw
		if cap(x.src.raw) > 16*inMax {
			x.src.raw = nil // the handler may take its time
		}
	}
	if err != nil {
		return nil, hostField{}, err
	}
	if r.Host != "" && r.URL.Host == "" {
		return r, hostField{r.Host, true}, nil
	}
	again := textproto.NewReader(bufio.NewReader(bytes.NewReader(head)))
	if _, err := again.ReadLine(); err == nil {
		fields, _ := again.ReadMIMEHeader() // ReadRequest has read the same
		if hosts := fields["Host"]; len(hosts) > 0 {
			host = hostField{hosts[0], true}
		}
	}
	return r, host, nil
}

// countValues returns how many values the header of a request has had, as net/http counts them:
// ReadRequest takes some out. It does not show that a field Trailer has two names, which count as
// two here and as one there, nor that Content-Length came twice, which counts as one here.
func countValues(r *http.Request, host hostField) (n int) {
	for _, vs := range r.Header {
		n += len(vs)
	}
	if host.has {
		n++
	}
	return n + len(r.TransferEncoding) + len(r.Trailer)
}

// checkHead refuses what ReadRequest accepts and net/http's server does not.
func checkHead(r *http.Request, host hostField, preface bool) error {
	if r.ProtoAtLeast(1, 1) && !host.has && !preface && r.Method != http.MethodConnect {
		return statusError{http.StatusBadRequest, "missing required Host header"}
	}
	for i := range len(host.value) {
		if !hostBytes[host.value[i]] {
			return statusError{http.StatusBadRequest, "malformed Host header"}
		}
	}
	for k, vs := range r.Header {
		if !isToken(k) {
			return statusError{http.StatusBadRequest, "invalid header name"}
		}
		for _, v := range vs {
			for i := range len(v) {
				if b := v[i]; b < ' ' && b != '\t' || b == 127 {
					return statusError{http.StatusBadRequest, "invalid header value"}
				}
			}
		}
	}
	return nil
}

var errTooLarge = errors.New("http: request too large")

// A statusError is an error that the client is told.
type statusError struct {
	code int
	text string
}

func (e statusError) Error() string { return http.StatusText(e.code) + ": " + e.text }

// refuse answers bytes that are no request, or none for this server. The connection ends.
func (n *connection) refuse(ctx context.Context, err error) {
	var status statusError
	text := "400 Bad Request"
	switch {
	case err == errTooLarge:
		text = "431 Request Header Fields Too Large"
		n.refuseWith(text, text)
		n.linger(ctx)
		return
	case fmt.Sprintf("%T", err) == "*http.unsupportedTEError":
		n.refuseWith("501 Not Implemented", "Unsupported transfer encoding")
		return
	case notRead(err):
		return
	case errors.As(err, &status):
		text = fmt.Sprintf("%d %s: %s", status.code, http.StatusText(status.code), status.text)
	}
	n.refuseWith(text, text)
}

func (n *connection) refuseWith(status, body string) {
	// If it fails, the client is gone.
	_, _ = n.write([]byte("HTTP/1.1 " + status + "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" + body))
}

// notRead reports whether there was nothing to read, so that there is nobody to answer.
func notRead(err error) bool {
	if err == io.EOF {
		return true
	}
	if e, ok := err.(net.Error); ok && e.Timeout() {
		return true
	}
	e, ok := err.(*net.OpError)
	return ok && e.Op == "read"
}

var hostBytes, tokenBytes [256]bool

func init() {
	for b := range 256 {
		alnum := b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
		hostBytes[b] = alnum || strings.IndexByte("!$%&()*+,-.:;='[]_~", byte(b)) >= 0
		tokenBytes[b] = alnum || strings.IndexByte("!#$%&'*+-.^_`|~", byte(b)) >= 0
	}
}

// isToken reports whether s is the name of a field (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		if !tokenBytes[s[i]] {
			return false
		}
	}
	return s != ""
}

// hasToken reports whether the list v has the token, which is in lower case. It is as
// lenient as net/http's server.
func hasToken(v, token string) bool {
	for i := 0; i+len(token) <= len(v); i++ {
		if i > 0 && !isBoundary(v[i-1]) || !strings.EqualFold(v[i:i+len(token)], token) {
			continue
		}
		if e := i + len(token); e == len(v) || isBoundary(v[e]) {
			return true
		}
	}
	return false
}

func isBoundary(b byte) bool { return b == ' ' || b == ',' || b == '\t' }
