//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package httptask_test

// TLS and HTTP/2 of a Server: HTTP/1 is served in sessions, all else is handed over to
// net/http.

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/internal/peer"
	"github.com/rondo-go/rondo/socket"
)

// TestProtocols: one listener serves what a client chooses. The handlers run in tasks, the
// hooks of http.Server see each connection once, and all of it ends with Shutdown.
func TestProtocols(t *testing.T) {
	certificate, roots := certificate()
	rows := []struct {
		name      string
		secured   bool
		protocols []func(*http.Protocols, bool) // of the server; none: its default
		client    []func(*http.Protocols, bool)
		want      string
	}{
		{"tls", true, nil, ones((*http.Protocols).SetHTTP1), "HTTP/1.1"},
		{"tls h2", true, nil, ones((*http.Protocols).SetHTTP2), "HTTP/2.0"},
		{"no h2", true, ones((*http.Protocols).SetHTTP1), ones((*http.Protocols).SetHTTP1, (*http.Protocols).SetHTTP2), "HTTP/1.1"},
		{"both", false, ones((*http.Protocols).SetHTTP1, (*http.Protocols).SetUnencryptedHTTP2), ones((*http.Protocols).SetHTTP1), "HTTP/1.1"},
		{"h2c", false, ones((*http.Protocols).SetHTTP1, (*http.Protocols).SetUnencryptedHTTP2), ones((*http.Protocols).SetUnencryptedHTTP2), "HTTP/2.0"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			type key struct{}
			var conns, opened, contexts, ended atomic.Int32
			s := &httptask.Server{HTTP: http.Server{
				ErrorLog: silent,
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if err := rondo.Yield(r.Context()); err != nil {
						t.Error(err)
					}
					fmt.Fprint(w, r.Proto, " ", r.TLS != nil && r.TLS.HandshakeComplete, " ", r.Context().Value(key{}))
				}),
				ConnState: func(_ net.Conn, state http.ConnState) {
					switch state {
					case http.StateNew:
						conns.Add(1)
						opened.Add(1)
					case http.StateHijacked: // net/http has it, and calls ConnState for one of its own
						conns.Add(-1)
						opened.Add(-1)
					case http.StateClosed:
						opened.Add(-1)
					}
				},
				ConnContext: func(ctx context.Context, c net.Conn) context.Context {
					contexts.Add(1)
					return context.WithValue(ctx, key{}, "mine")
				},
			}}
			if row.secured {
				s.HTTP.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
			}
			if row.protocols != nil {
				s.HTTP.Protocols = protocols(row.protocols)
			}
			s.HTTP.RegisterOnShutdown(func() { ended.Add(1) })
			inTasks(t, s, func(ctx context.Context, address string) error {
				base := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, Protocols: protocols(row.client)}
				client := &http.Client{Transport: httptask.Transport(ctx, base)}
				defer client.CloseIdleConnections()
				url := map[bool]string{false: "http://", true: "https://"}[row.secured] + address
				for range 3 {
					want := fmt.Sprint(row.want, " ", row.secured, " mine")
					if got, err := ask(ctx, client, url); err != nil || got != want {
						t.Errorf("%q, %v; want %q", got, err, want)
					}
				}
				return nil
			})
			run(t, func(ctx context.Context) error { // net/http calls both on goroutines
				return until(ctx, func() bool { return opened.Load() == 0 && ended.Load() == 1 })
			})
			// A Transport may dial twice: with HTTP/2 it hands out a connection before it keeps it.
			if n, c := contexts.Load(), conns.Load(); n != c || n == 0 {
				t.Errorf("ConnContext was called %d times for %d connections", n, c)
			}
		})
	}
}

// TestHandOverFails: a connection that cannot be handed over to net/http, for which there is no
// descriptor, or of which ConnState panics then, is closed. Requests that come after that have
// their own answers.
func TestHandOverFails(t *testing.T) {
	release := peer.Release
	defer func() { peer.Release = release }()
	for _, panics := range []bool{false, true} {
		in, both := 0, new(rondo.Event)
		s := &httptask.Server{HTTP: http.Server{
			ErrorLog:  silent,
			Protocols: protocols(ones((*http.Protocols).SetHTTP1, (*http.Protocols).SetUnencryptedHTTP2)),
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if in++; in == 2 {
					both.Set()
				}
				_ = both.Wait(r.Context())
				say(w, r.URL.Path)
			}),
		}}
		if panics {
			s.HTTP.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateHijacked {
					panic("not this one")
				}
			}
		} else {
			peer.Release = func(net.Conn) (net.Conn, error) { return nil, syscall.EMFILE }
		}
		inTasks(t, s, func(ctx context.Context, address string) error {
			for range 8 {
				in, both = 0, new(rondo.Event)
				c, err := socket.Dial(ctx, "tcp", address)
				if err != nil {
					return err
				}
				say(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
				if got, err := io.ReadAll(c); len(got) > 0 || err != nil {
					t.Errorf("ConnState panics: %v; the client gets %q, %v", panics, got, err)
				}
				_ = c.Close()
				for path, got := range atOnce(ctx, address, "/a", "/b") {
					if got != path {
						t.Errorf("ConnState panics: %v; a request for %s is answered with %q", panics, path, got)
					}
				}
			}
			return nil
		})
		peer.Release = release
	}
}

// atOnce asks for all paths at once, and returns the answers.
func atOnce(ctx context.Context, address string, paths ...string) map[string]string {
	answers := make(map[string]string)
	_ = rondo.Group(ctx, func(g *rondo.Scope) error {
		for _, path := range paths {
			g.Go(func(ctx context.Context) error {
				answers[path] = "" // also if there is none
				return rondo.Timeout(ctx, time.Minute, func(ctx context.Context) error {
					c, err := socket.Dial(ctx, "tcp", address)
					if err != nil {
						return err
					}
					defer c.Close()
					say(c, "GET "+path+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
					got, err := io.ReadAll(c)
					_, answers[path], _ = strings.Cut(string(got), "\r\n\r\n")
					return err
				})
			})
		}
		return nil
	})
	return answers
}

// TestWithoutHTTP1: a Server whose Protocols have no HTTP/1 does not serve it.
func TestWithoutHTTP1(t *testing.T) {
	s := &httptask.Server{HTTP: http.Server{
		Protocols: protocols(ones((*http.Protocols).SetUnencryptedHTTP2)),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 1 {
				t.Errorf("the handler was called for %s", r.Proto)
			}
		}),
	}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		c, err := socket.Dial(ctx, "tcp", address)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"); err != nil {
			return err
		}
		_, _ = io.ReadAll(c)
		client := &http.Client{Transport: httptask.Transport(ctx, &http.Transport{Protocols: s.HTTP.Protocols})}
		defer client.CloseIdleConnections()
		_, err = ask(ctx, client, "http://"+address)
		return err
	})
}

// secured is a Server with TLS, and the config of a client.
func secured(h http.HandlerFunc) (*httptask.Server, *tls.Config) {
	certificate, roots := certificate()
	s := &httptask.Server{HTTP: http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		Handler:   h, ErrorLog: silent,
	}}
	return s, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}
}

// tell connects by TLS, sends text, and returns what comes until the end.
func tell(ctx context.Context, address string, config *tls.Config, text string) (got string, err error) {
	err = away(ctx, func() error {
		c, err := tls.Dial("tcp", address, config)
		if err != nil {
			return err
		}
		defer c.Close()
		say(c, text)
		all, err := io.ReadAll(c)
		got = string(all)
		return err
	})
	return got, err
}

// TestNextProto: a protocol of the program's gets the connection from net/http. Requests that it
// makes are answered in tasks, too.
func TestNextProto(t *testing.T) {
	s, config := secured(func(w http.ResponseWriter, r *http.Request) {
		say(w, fmt.Sprint(" in a task: ", rondo.Yield(r.Context())))
	})
	s.HTTP.TLSConfig.NextProtos, config.NextProtos = []string{"say"}, []string{"say"}
	s.HTTP.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
		"say": func(_ *http.Server, c *tls.Conn, h http.Handler) {
			line, _ := bufio.NewReader(c).ReadString('\n')
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, httptest.NewRequest("GET", "/", nil))
			say(c, "heard "+line+answer.Body.String())
			c.Close()
		},
	}
	inTasks(t, s, func(ctx context.Context, address string) error {
		if got, err := tell(ctx, address, config, "hello\n"); got != "heard hello\n in a task: <nil>" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		return nil
	})
}

// TestHijackTLS: a handler that takes the connection over gets a TLSConn, and what was read.
func TestHijackTLS(t *testing.T) {
	s, config := secured(func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		if _, ok := c.(*socket.TLSConn); !ok {
			t.Errorf("Hijack returned a %T", c)
		}
		line, err := rw.ReadString('\n')
		fmt.Fprint(c, line, err)
	})
	inTasks(t, s, func(ctx context.Context, address string) error {
		if got, err := tell(ctx, address, config, get+"early\n"); got != "early\n<nil>" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		return nil
	})
}

// TestNoTLS: a client that speaks HTTP without TLS is told so, as by net/http. It and one that
// leaves go to the log, and are counted.
func TestNoTLS(t *testing.T) {
	log := new(logbook)
	s, _ := secured(nil)
	s.HTTP.ErrorLog = newLog(log)
	inTasks(t, s, func(ctx context.Context, address string) error {
		err := away(ctx, func() error {
			gone, err := net.Dial("tcp", address)
			if err != nil {
				return err
			}
			say(gone, "\x16")
			gone.Close()
			c := connect(t, address)
			defer c.Close()
			say(c, get)
			got, err := io.ReadAll(c) // an error: the rest of the request was not read
			const want = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
			if string(got) != want {
				t.Errorf("%q, %v", got, err)
			}
			return nil
		})
		return errors.Join(err, until(ctx, func() bool { return strings.Count(log.String(), "TLS handshake error from") == 2 }))
	})
	if n := s.Stats().Handshakes; n != 2 || !strings.Contains(log.String(), "client sent an HTTP request to an HTTPS server") {
		t.Errorf("%d handshakes have failed; the log: %q", n, log)
	}
}

// TestSilentTLS: a handshake may take as long as the least of the server's limits.
func TestSilentTLS(t *testing.T) {
	log := new(logbook)
	s, _ := secured(nil)
	s.HTTP.ErrorLog, s.HTTP.ReadTimeout, s.HTTP.WriteTimeout = newLog(log), time.Hour, 20*time.Millisecond
	inTasks(t, s, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			c := connect(t, address)
			defer c.Close()
			if got, err := io.ReadAll(c); len(got) > 0 || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			return nil
		})
	})
	if !strings.Contains(log.String(), "the client has not completed the TLS handshake in time") {
		t.Errorf("the log: %q", log)
	}
}

// TestCutTLS: the client sees that an answer without a length was cut.
func TestCutTLS(t *testing.T) {
	for _, whole := range []bool{true, false} {
		s, config := secured(func(w http.ResponseWriter, r *http.Request) {
			say(w, strings.Repeat("x", 10_000))
			if !whole {
				rondo.Current(r.Context()).Cancel(errors.New("cut"))
				say(w, strings.Repeat("x", 10_000))
			}
		})
		inTasks(t, s, func(ctx context.Context, address string) error {
			got, err := tell(ctx, address, config, "GET / HTTP/1.0\r\n\r\n")
			if (err == nil) != whole || len(got) == 0 {
				t.Errorf("whole: %v, the client got %d bytes, %v", whole, len(got), err)
			}
			return nil
		})
	}
}

// TestGoneTLS: a client that leaves cancels its handler, and so does one that ends only its side;
// a request that comes early does not.
func TestGoneTLS(t *testing.T) {
	for _, leave := range []func(c *tls.Conn) error{(*tls.Conn).Close, (*tls.Conn).CloseWrite, func(c *tls.Conn) error { return c.NetConn().Close() }} {
		started, ended := 0, make(chan error, 2)
		s, config := secured(func(w http.ResponseWriter, r *http.Request) {
			if started++; started == 1 {
				return
			}
			ended <- rondo.Sleep(r.Context(), time.Hour)
		})
		inTasks(t, s, func(ctx context.Context, address string) error {
			c, err := rondo.Offload(ctx, func(context.Context) (*tls.Conn, error) { return tls.Dial("tcp", address, config) })
			if err != nil {
				return err
			}
			defer c.NetConn().Close()
			say(c, get+get)
			if err := until(ctx, func() bool { return started == 2 }); err != nil {
				return err
			}
			if err := away(ctx, func() error { return leave(c) }); err != nil {
				return err
			}
			err, _, received := rondo.Receive(ctx, ended)
			if received != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("the handler's wait: %v, %v", err, received)
			}
			return nil
		})
	}
}

// TestBodyReadElsewhereTLS: a goroutine reads a body to its end, and by then the client has sent
// its next request. Whether the client has left is found out in a task, not in a callback.
func TestBodyReadElsewhereTLS(t *testing.T) {
	sent := make(chan struct{})
	s, config := secured(func(w http.ResponseWriter, r *http.Request) {
		n, err := rondo.Offload(r.Context(), func(context.Context) (int64, error) {
			<-sent
			return io.Copy(io.Discard, r.Body)
		})
		fmt.Fprintf(w, "read %d, %v. ", n, err)
	})
	post := func(length int, field string) string {
		return fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\n%sContent-Length: %d\r\n\r\n%s", field, length, strings.Repeat("a", length))
	}
	inTasks(t, s, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			c, err := tls.Dial("tcp", address, config)
			if err != nil {
				return err
			}
			defer c.Close()
			say(c, post(6000, "")+post(30_000, "Connection: close\r\n"))
			close(sent)
			got, err := io.ReadAll(c)
			if !strings.Contains(string(got), "read 6000, <nil>. ") || !strings.HasSuffix(string(got), "read 30000, <nil>. ") || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			return nil
		})
	})
}

// TestTLSFiles: certificate and key may be files. One that is missing is an error of ServeTLS,
// which closes the listener.
func TestTLSFiles(t *testing.T) {
	certificate, roots := certificate()
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, b := range map[string]*pem.Block{"cert": {Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}, "key": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, func(ctx context.Context) error {
		l := listen(t)
		s := &httptask.Server{HTTP: http.Server{
			Handler:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { say(w, "hello") }),
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{{}}}, // as with net/http, the files count
		}}
		served := rondo.Go(ctx, func(ctx context.Context) error {
			return s.ServeTLS(ctx, l, filepath.Join(dir, "cert"), filepath.Join(dir, "key"))
		})
		got, err := tell(ctx, l.Addr().String(), &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}, "GET / HTTP/1.0\r\n\r\n")
		if !strings.HasSuffix(got, "\r\n\r\nhello") || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if err := s.Shutdown(ctx); err != nil {
			return err
		}
		if err := served.Wait(ctx); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("ServeTLS returned %v", err)
		}

		key := filepath.Join(dir, "key")
		for file, want := range map[string]string{
			"no such file": "httptask: certificate no such file with key no such file: open no such file: ",
			"":             "httptask: TLS without a certificate: ",
			key:            "httptask: certificate " + key + " with key " + key + ": tls: ",
		} {
			l := listen(t)
			if err := new(httptask.Server).ServeTLS(ctx, l, file, file); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("ServeTLS returned %v", err)
			}
			if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Accept returned %v", err)
			}
		}
		return nil
	})
}
