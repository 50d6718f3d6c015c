package interop_test

// crypto/tls in tasks, with OpenSSL at the other end: its client, its server, curl
// and nginx.

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/interop/internal/peer"
	"github.com/rondo-go/rondo/socket"
)

var versions = map[string]uint16{"-tls1_2": tls.VersionTLS12, "-tls1_3": tls.VersionTLS13}

// TestTLSServerOpenSSL: openssl sends lines to a server that returns them in capital
// letters.
func TestTLSServerOpenSSL(t *testing.T) {
	openssl := peer.Need(t, "openssl")
	own := newCertificate(t)
	cert, _ := own.files(t, t.TempDir())
	for flag, version := range versions {
		t.Run(flag, func(t *testing.T) {
			shout := func(_ context.Context, c net.Conn) error {
				c = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{own.pair}})
				defer c.Close()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					if got := c.(*tls.Conn).ConnectionState().Version; got != version {
						t.Errorf("the version is %x", got)
					}
					if _, err := fmt.Fprintln(c, strings.ToUpper(lines.Text())); err != nil {
						return err
					}
					if lines.Text() == "end" {
						return nil
					}
				}
				return errors.New("the end did not come")
			}
			run(t, func(ctx context.Context) error {
				return serving(t, ctx, shout, func(ctx context.Context, address string) error {
					out, err := command(ctx, strings.NewReader("one\ntwo\nend\n"), openssl, "s_client", "-quiet", "-ign_eof",
						"-verify_return_error", "-CAfile", cert, flag, "-connect", address)
					if out != "ONE\nTWO\nEND\n" {
						t.Errorf("openssl got %q", out)
					}
					return err
				})
			})
		})
	}
}

// TestTLSServerCurl: curl sends two requests to a fasthttp server behind TLS, on one
// connection.
func TestTLSServerCurl(t *testing.T) {
	curl := peer.Need(t, "curl")
	own := newCertificate(t)
	run(t, func(ctx context.Context) error {
		f := newFast(ctx)
		secure := func(_ context.Context, c net.Conn) error {
			return f.server.ServeConn(tls.Server(c, &tls.Config{Certificates: []tls.Certificate{own.pair}}))
		}
		return serving(t, ctx, secure, func(ctx context.Context, address string) error {
			url := "https://" + address
			out, err := command(ctx, nil, curl, "-sSk", url+"/a", url+"/b")
			if out != "/a 1\n/b 2\n" {
				t.Errorf("curl got %q", out)
			}
			return err
		})
	})
}

var accepting = regexp.MustCompile(`ACCEPT 127\.0\.0\.1:(\d+)`)

// TestTLSClientOpenSSL: tasks fetch the page in which openssl shows what was
// negotiated.
func TestTLSClientOpenSSL(t *testing.T) {
	openssl := peer.Need(t, "openssl")
	own := newCertificate(t)
	cert, key := own.files(t, t.TempDir())
	for flag, version := range versions {
		t.Run(flag, func(t *testing.T) {
			p := peer.Start(t, exec.Command(openssl, "s_server", "-accept", "127.0.0.1:0", "-www", "-cert", cert, "-key", key, flag))
			var address string
			p.Await(t, func() error {
				m := accepting.FindStringSubmatch(p.Output())
				if m == nil {
					return errors.New("it has not said where it listens")
				}
				address = net.JoinHostPort("127.0.0.1", m[1])
				return nil
			})
			run(t, func(ctx context.Context) error {
				raw, err := socket.Dial(ctx, "tcp", address)
				if err != nil {
					return err
				}
				defer raw.Close()
				c := tls.Client(raw, &tls.Config{RootCAs: own.pool, ServerName: "127.0.0.1"})
				if err := c.HandshakeContext(ctx); err != nil {
					return err
				}
				if _, err := io.WriteString(c, "GET / HTTP/1.0\r\n\r\n"); err != nil {
					return err
				}
				page, err := io.ReadAll(c)
				if !strings.Contains(string(page), "Secure Renegotiation") || c.ConnectionState().Version != version {
					t.Errorf("version %x: %s", c.ConnectionState().Version, page)
				}
				return err
			})
		})
	}
}

// TestTLSClientNginx: 20 tasks each fetch a megabyte from nginx at once.
func TestTLSClientNginx(t *testing.T) {
	const tasks = 20
	own := newCertificate(t)
	dir := t.TempDir()
	own.files(t, dir)
	want := strings.Repeat("nginx and rondo\n", 1<<16)
	if err := os.WriteFile(filepath.Join(dir, "page"), []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
	address := peer.Nginx(t, dir, "ssl_certificate cert.pem; ssl_certificate_key key.pem; root "+dir+";", "ssl")
	var at overlap
	run(t, func(ctx context.Context) error {
		return all(ctx, tasks, func(ctx context.Context, _ int) error {
			leave := at.enter()
			defer leave()
			raw, err := socket.Dial(ctx, "tcp", address)
			if err != nil {
				return err
			}
			defer raw.Close()
			c := tls.Client(raw, &tls.Config{RootCAs: own.pool, ServerName: "127.0.0.1"})
			if _, err := io.WriteString(c, "GET /page HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
				return err
			}
			a, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				return err
			}
			page, err := io.ReadAll(a.Body)
			if string(page) != want {
				t.Errorf("got %d bytes of %d", len(page), len(want))
			}
			return err
		})
	})
	at.want(t, tasks)
}

// TestTLSHandshakeEnds: the server never answers. The client's context ends the
// handshake, on one of the library's goroutines, and so does the scope of the
// task.
func TestTLSHandshakeEnds(t *testing.T) {
	run(t, func(ctx context.Context) error {
		silent := func(_ context.Context, c net.Conn) error {
			_, err := io.Copy(io.Discard, c)
			return err
		}
		return serving(t, ctx, silent, func(ctx context.Context, address string) error {
			shake := func(ctx, within context.Context) error {
				raw, err := socket.Dial(ctx, "tcp", address)
				if err != nil {
					return err
				}
				defer raw.Close()
				return tls.Client(raw, &tls.Config{ServerName: "h"}).HandshakeContext(within)
			}
			within, stop := context.WithTimeout(ctx, 20*time.Millisecond)
			defer stop()
			turns, err := beats(ctx, func(ctx context.Context) error { return shake(ctx, within) })
			if !errors.Is(err, context.DeadlineExceeded) || turns == 0 {
				t.Errorf("the loop had %d turns, and the error is %v", turns, err)
			}
			err = rondo.Timeout(ctx, 20*time.Millisecond, func(within context.Context) error { return shake(ctx, within) })
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("in a scope that has timed out the error is %v", err)
			}
			return nil
		})
	})
}
