//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package httptask_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/httptask"
)

// TestCopyToHalfClosed: a client that ends its side while an answer is copied, from a reader or
// from a file, gets all of it. Where net/http's goroutines carry the connection, a write that waits
// keeps them from telling the handler that the client has left.
func TestCopyToHalfClosed(t *testing.T) {
	const size = 32 << 20 // more than the buffers of a connection take
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := bytes.Repeat([]byte("0123456789abcde\n"), size/16)
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() (io.Reader, error){
		"reader":         func() (io.Reader, error) { return struct{ io.Reader }{bytes.NewReader(text)}, nil },
		"file":           func() (io.Reader, error) { _, err := f.Seek(0, io.SeekStart); return f, err },
		"part of a file": func() (io.Reader, error) { _, err := f.Seek(0, io.SeekStart); return io.LimitReader(f, size), err },
	} {
		cancelled := make(chan bool)
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			context.AfterFunc(r.Context(), func() { close(cancelled) })
			w.Header().Set("Content-Length", strconv.Itoa(size))
			from, err := open()
			if err == nil {
				_, err = io.Copy(w, from)
			}
			if err != nil {
				t.Errorf("%s: copying: %v", name, err)
			}
		})
		inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h, ErrorLog: silent}}, func(ctx context.Context, address string) error {
			return away(ctx, func() error {
				c := connect(t, address)
				defer c.Close()
				_, err := io.WriteString(c, get)
				if err := errors.Join(err, c.(*net.TCPConn).CloseWrite()); err != nil {
					return err
				}
				<-cancelled
				a, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					return err
				}
				if got, err := io.ReadAll(a.Body); err != nil || !bytes.Equal(got, text) {
					t.Errorf("%s: %d bytes, %v", name, len(got), err)
				}
				return nil
			})
		})
	}
}

// TestBlockingHalfClosed: a goroutine that a handler waits for answers a client that has ended its
// side.
func TestBlockingHalfClosed(t *testing.T) {
	h := httptask.Blocking(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		_, err := io.WriteString(w, "hello")
		if err := errors.Join(err, http.NewResponseController(w).Flush()); err != nil {
			t.Error(err)
		}
	}))
	inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h}}, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			got, err := talk(address, sameRow{send: "GET / HTTP/1.0\r\n\r\n", half: true, closes: true})
			if !strings.HasSuffix(got, "\r\n\r\nhello") {
				t.Errorf("the answer is %q", got)
			}
			return err
		})
	})
}
