package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/internal/talk"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// behind returns a listener for the proxy to forward to.
func behind(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func start(t *testing.T, args ...string) (p *program.Process, address string) {
	t.Helper()
	p = program.Start(t, append(args, "-addr", "localhost:0")...)
	return p, strings.TrimPrefix(p.Line(), "listening on ")
}

// connect gives both ends of a connection through the proxy: raw is below near.
func connect(t *testing.T, l net.Listener, address string, plain bool) (near, far interface {
	net.Conn
	CloseWrite() error
}, raw *net.TCPConn) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	raw = c.(*net.TCPConn)
	near = raw
	if !plain {
		s := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
		if err := s.Handshake(); err != nil {
			t.Fatal(err)
		}
		near = s
	}
	d, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return near, d.(*net.TCPConn), raw
}

var ways = map[string][]string{
	"tls":    nil,
	"plain":  {"-plain"},
	"splice": {"-plain", "-idle", "0"},
}

// TestBothWays sends much in both directions at once, ends one side, and has the
// other go on.
func TestBothWays(t *testing.T) {
	for way, args := range ways {
		t.Run(way, func(t *testing.T) {
			l := behind(t)
			p, address := start(t, append(args, "-to", l.Addr().String())...)
			near, far, _ := connect(t, l, address, len(args) > 0)
			much := bytes.Repeat([]byte("rondo "), 1<<19)
			sent := make(chan error)
			for _, c := range []net.Conn{near, far} {
				go func() { _, err := c.Write(much); sent <- err }()
			}
			for _, c := range []net.Conn{far, near} {
				got := make([]byte, len(much))
				if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, much) {
					t.Fatalf("it is not what was sent: %v", err)
				}
			}
			for range 2 {
				if err := <-sent; err != nil {
					t.Fatal(err)
				}
			}
			if err := near.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(far); len(rest) != 0 || err != nil {
				t.Fatalf("at the end of one side: %d bytes, %v", len(rest), err)
			}
			fmt.Fprint(far, "goodbye")
			if err := far.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(near); string(rest) != "goodbye" || err != nil {
				t.Fatalf("on the other: %q, %v", rest, err)
			}
			p.Interrupt()
			p.End()
		})
	}
}

// TestBackPressure writes until the proxy takes no more, because nobody reads;
// then all of it comes.
func TestBackPressure(t *testing.T) {
	for way, args := range ways {
		t.Run(way, func(t *testing.T) {
			l := behind(t)
			p, address := start(t, append(args, "-to", l.Addr().String())...)
			near, far, raw := connect(t, l, address, len(args) > 0)
			// Buffers that do not grow, so that they are full soon.
			for _, c := range []*net.TCPConn{raw, far.(*net.TCPConn)} {
				if err := c.SetReadBuffer(1 << 16); err != nil {
					t.Fatal(err)
				}
			}
			const total = 64 << 20
			for _, c := range [][2]net.Conn{{far, near}, {near, far}} {
				written := make(chan error, 1)
				taken := make(chan int, total>>16+1)
				go func() {
					piece := make([]byte, 1<<16)
					for range total >> 16 {
						if _, err := c[0].Write(piece); err != nil {
							written <- err
							return
						}
						taken <- len(piece)
					}
					written <- nil
				}()
				// Something arrives, so the proxy is at work, and it cannot have
				// taken all of it, since it has no place to keep that.
				one := make([]byte, 1)
				if _, err := io.ReadFull(c[1], one); err != nil {
					t.Fatal(err)
				}
				if n := len(taken) << 16; n >= total {
					t.Errorf("%d bytes were taken, and nobody has read them", n)
				}
				if n, err := io.CopyN(io.Discard, c[1], total-1); err != nil {
					t.Fatalf("after %d bytes: %v", n, err)
				}
				if err := <-written; err != nil {
					t.Fatal(err)
				}
			}
			near.Close()
			far.Close()
			p.Interrupt()
			p.Wait()
		})
	}
}

// TestHostilePeer has one that does not read send a record that is damaged, while
// the proxy is sending: the answer to that must not stop the others.
func TestHostilePeer(t *testing.T) {
	l := behind(t)
	p, address := start(t, "-to", l.Addr().String())
	_, far, raw := connect(t, l, address, false)
	if err := raw.SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	full := make(chan bool)
	go func() {
		defer close(full)
		piece := make([]byte, 1<<16)
		for n := 0; n < 64<<20; n += len(piece) {
			if _, err := far.Write(piece); err != nil {
				return // cut off
			}
		}
		t.Error("64 MB were taken that nobody reads")
	}()
	near, far2, _ := connect(t, l, address, false)
	// 100 round trips, in which what is written above has filled what it can.
	echo := func() {
		t.Helper()
		for range 100 {
			fmt.Fprint(near, "x")
			one := make([]byte, 1)
			if _, err := io.ReadFull(far2, one); err != nil {
				t.Fatal(err)
			}
		}
	}
	echo()
	if _, err := raw.Write([]byte("\x17\x03\x03\x00\x20" + strings.Repeat("?", 32))); err != nil {
		t.Fatal(err)
	}
	echo()
	raw.Close()
	<-full
	echo()
	near.Close()
	far2.Close()
	p.Interrupt()
	p.Wait()
}

// TestIdle has a connection ended over which nothing comes, and one that says
// nothing at all.
func TestIdle(t *testing.T) {
	l := behind(t)
	p, address := start(t, "-to", l.Addr().String(), "-idle", "10ms", "-setup", "1s")
	_, far, _ := connect(t, l, address, false)
	if rest, err := io.ReadAll(far); len(rest) != 0 || err != nil {
		t.Errorf("%d bytes, %v", len(rest), err)
	}
	silent, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if rest, err := io.ReadAll(silent); len(rest) != 0 || err != nil {
		t.Errorf("the silent one got %d bytes, %v", len(rest), err)
	}
	p.Interrupt()
	p.Wait()
}

// TestGrace has a connection be finished after the signal, and one cut off that
// takes too long.
func TestGrace(t *testing.T) {
	l := behind(t)
	p, address := start(t, "-to", l.Addr().String(), "-grace", "1m")
	near, far, _ := connect(t, l, address, false)
	p.Interrupt()
	fmt.Fprint(near, "last words")
	got := make([]byte, 10)
	if _, err := io.ReadFull(far, got); err != nil {
		t.Fatal(err)
	}
	near.Close()
	far.Close()
	p.End()

	p, address = start(t, "-to", l.Addr().String(), "-grace", "1ms")
	near, _, _ = connect(t, l, address, false)
	p.Interrupt()
	if rest, _ := io.ReadAll(near); len(rest) != 0 {
		t.Errorf("the connection that was cut off got %q", rest)
	}
	if _, errors, code := p.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, errors)
	}
}

// TestMistakes has each told in a sentence: at the start by the program, later to
// the log, after which it goes on.
func TestMistakes(t *testing.T) {
	l := behind(t)
	file := filepath.Join(t.TempDir(), "no.pem")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args     []string
		sentence string
	}{
		{[]string{"-cert", "nowhere.pem", "-key", file}, "open nowhere.pem: no such file"},
		{[]string{"-cert", file, "-key", file}, "failed to find any PEM data"},
		{[]string{"-addr", l.Addr().String()}, "address already in use"},
		{[]string{"-addr", "7443"}, "missing port in address"},
	} {
		if _, errors, code := program.Start(t, c.args...).Wait(); code != 1 || !strings.Contains(errors, c.sentence) {
			t.Errorf("%v: exit code %d: %s", c.args, code, errors)
		}
	}
	p, address := start(t, "-to", talk.Nobody)
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET / HTTP/1.1\r\n\r\n")
	_, _ = io.ReadAll(c)
	s, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, _ = io.ReadAll(s)
	p.Interrupt()
	_, errors, code := p.Wait()
	if code != 0 || !strings.Contains(errors, "first record does not look like a TLS handshake") || !strings.Contains(errors, "connection refused") {
		t.Errorf("exit code %d: %s", code, errors)
	}
}
