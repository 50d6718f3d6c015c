//go:build !rondo_portable

package soak

// The servers of a round, and the peers that misbehave towards them.

import (
	"context"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/socket"
)

// serve starts echo servers in g: of tasks, of callbacks, of sessions, and of HTTP.
func (c *chaos) serve(g *rondo.Scope) error {
	server := &socket.Server{OnError: func(net.Conn, error) { c.at("Server.OnError") }, Handler: func(ctx context.Context, conn net.Conn) error {
		c.running.Add(1)
		defer c.running.Add(-1)
		c.at("Server.Handler")
		if c.fails() {
			return c.fail(ctx)
		}
		_, err := io.Copy(conn, conn)
		return err
	}}
	protocol := &socket.Protocol{
		High: 1 << 10, Limit: 1 << 20,
		Connected: func(tr *socket.Transport) {
			c.running.Add(1)
			c.narrow(tr)
			c.at("Protocol.Connected")
		},
		Data: func(tr *socket.Transport, p []byte) {
			c.at("Protocol.Data")
			first := tr.Value == nil
			tr.Value = true
			if first && c.fails() { // later there would be few that write long enough to be paused
				c.failAtOnce(tr.Context())
			}
			_, _ = tr.Write(p)
		},
		EOF:           func(*socket.Transport) bool { c.at("Protocol.EOF"); return false },
		Lost:          func(*socket.Transport, error) { c.running.Add(-1); c.at("Protocol.Lost") },
		PauseWriting:  func(tr *socket.Transport) { tr.PauseReading(); c.at("Protocol.PauseWriting") },
		ResumeWriting: func(tr *socket.Transport) { tr.ResumeReading(); c.at("Protocol.ResumeWriting") },
		OnError:       func(error) { c.at("Protocol.OnError") },
	}
	sessions := &socket.Server{OnError: func(net.Conn, error) {}, Session: c.session}
	web := &httptask.Server{Grace: -1, HTTP: http.Server{
		ErrorLog: log.New(io.Discard, "", 0),
		Handler:  http.HandlerFunc(c.answer),
	}}
	for i, serve := range []func(context.Context, net.Listener) error{server.Serve, protocol.Serve, sessions.Serve, web.Serve} {
		l, err := socket.Listen(g, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		c.address[i] = l.Addr().String()
		g.Go(func(ctx context.Context) error {
			defer l.Close()
			return serve(ctx, l)
		})
	}
	return nil
}

// pausing reports whether the function that explodes is one that is called when the system
// has no more room for what a Protocol writes, or has room again.
func (c *chaos) pausing() bool { return strings.HasSuffix(c.place, "Writing") }

// narrow leaves the system little room if that is to happen in the short time of a round.
func (c *chaos) narrow(tr *socket.Transport) {
	if !c.pausing() {
		return
	}
	if raw, err := tr.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, 1) })
	}
}

// session sends back what it is sent.
func (c *chaos) session(conn net.Conn) func(ctx context.Context) error {
	c.at("Server.Session")
	p := make([]byte, 4<<10)
	return func(ctx context.Context) error {
		c.running.Add(1)
		defer c.running.Add(-1)
		n, err := conn.Read(p)
		c.at("session")
		if c.fails() {
			return c.fail(ctx)
		}
		if err != nil {
			return err
		}
		_, err = conn.Write(p[:n])
		return err
	}
}

// answer sends back the body.
func (c *chaos) answer(w http.ResponseWriter, r *http.Request) {
	c.running.Add(1)
	defer c.running.Add(-1)
	_ = rondo.Sleep(r.Context(), time.Microsecond)
	c.at("httptask.Handler")
	if c.fails() {
		_ = c.fail(r.Context())
		return
	}
	_, _ = io.Copy(w, r.Body)
}

// request makes a request from a goroutine, which may give up.
func request(address string, rnd *rand.Rand) {
	var transport http.Transport
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rnd.IntN(30_000))*time.Microsecond)
	defer cancel()
	for range rnd.IntN(5) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address, strings.NewReader(strings.Repeat("x", rnd.IntN(20_000))))
		if err != nil {
			return
		}
		answer, err := transport.RoundTrip(r)
		if err != nil {
			return // the handler explodes, or the server has ended
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
}

// starve has a server of callbacks accept a connection when there is no descriptor for
// it.
func (c *chaos) starve(ctx context.Context) error {
	to, err := netip.ParseAddrPort(c.address[1])
	if err != nil {
		return err
	}
	client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(client)
	var was unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &was); err != nil {
		return err
	}
	c.starved.Store(true)
	defer func() { _ = unix.Prlimit(0, unix.RLIMIT_NOFILE, &was, nil) }()
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: was.Max}, nil); err != nil {
		return err
	}
	_ = unix.Connect(client, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
	return rondo.Sleep(ctx, c.some(2000))
}

// visit connects to a server: as a task that is sent back what it sends, or by a
// goroutine that is a bad peer, or one that makes requests.
func (c *chaos) visit(ctx context.Context) error {
	c.counts[connections].Add(1)
	at := c.rnd.IntN(len(c.address))
	address := c.address[at]
	if at == 3 {
		rnd := c.another()
		c.outside.Go(func() { request(address, rnd) })
		return rondo.Sleep(ctx, c.some(500))
	}
	if at == 1 && c.place == "Protocol.OnError" && !c.calm {
		return c.starve(ctx)
	}
	if paused := at == 1 && c.pausing(); paused || c.rnd.IntN(2) == 0 {
		rnd := c.another()
		how := rnd.IntN(6)
		if paused {
			how = unread
		}
		c.outside.Go(func() { misbehave(address, rnd, how) })
		return rondo.Sleep(ctx, c.some(500))
	}
	return rondo.Timeout(ctx, c.some(20_000), func(ctx context.Context) error {
		dialer := socket.Dialer{Control: func(string, string, syscall.RawConn) error { c.at("Dialer.Control"); return nil }}
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return dropped(err)
		}
		defer conn.Close()
		sent, got := make([]byte, 1+c.rnd.IntN(200_000)), 0
		for i := range sent {
			sent[i] = byte(i * 7)
		}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(context.Context) error {
				_, err := conn.Write(sent)
				return dropped(err)
			})
			p := make([]byte, 1+c.rnd.IntN(30_000))
			for got < len(sent) {
				n, err := conn.Read(p)
				for i := range p[:n] {
					if p[i] != byte((got+i)*7) {
						c.t.Errorf("byte %d is wrong", got+i)
						return nil
					}
				}
				if got += n; err != nil {
					return dropped(err)
				}
			}
			return nil
		})
	})
}

// dropped returns nil for what may happen to a connection whose other side explodes,
// and err otherwise.
func dropped(err error) error {
	for _, may := range []error{syscall.ECONNRESET, syscall.ECONNREFUSED, syscall.EPIPE, io.EOF} {
		if errors.Is(err, may) {
			return nil
		}
	}
	return err
}

// unread is the way to misbehave of a peer that sends and does not read.
const unread = 4

// misbehave is a peer that stalls, sends bytes one by one, slowly, or urgent ones,
// does not read what comes back, and resets or closes in the middle of it. It waits for a
// second at most for a server that does not read.
func misbehave(address string, rnd *rand.Rand, how int) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return // the server has ended
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	tcp := conn.(*net.TCPConn)
	if rnd.IntN(2) == 0 {
		_ = tcp.SetLinger(0)
	}
	pause := func(n int) { <-time.After(time.Duration(rnd.IntN(n)) * time.Microsecond) }
	switch how {
	case 0: // silent
		pause(50_000)
	case 1: // a byte now and then
		for range rnd.IntN(30) {
			if _, err := conn.Write([]byte("x")); err != nil {
				return
			}
			pause(2000)
		}
	case 2: // bytes one by one, as fast as can be
		_ = tcp.SetNoDelay(true)
		for range rnd.IntN(300) {
			if _, err := conn.Write([]byte("x")); err != nil {
				return
			}
		}
		_ = tcp.CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
	case 3: // urgent
		_, _ = conn.Write([]byte("calm"))
		for range 1 + rnd.IntN(5) {
			urgent(tcp)
			pause(500)
		}
		_ = tcp.CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
	case unread: // sends, and does not read
		_ = tcp.SetReadBuffer(1)
		_ = conn.SetDeadline(time.Now().Add(20 * time.Millisecond))
		for p := make([]byte, 64<<10); ; {
			if _, err := conn.Write(p); err != nil {
				break
			}
		}
		if rnd.IntN(2) == 0 { // now it does
			_ = conn.SetDeadline(time.Now().Add(20 * time.Millisecond))
			_, _ = io.Copy(io.Discard, conn)
		}
	case 5: // goes at once
	}
}

// urgent sends a byte out of band.
func urgent(conn *net.TCPConn) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = syscall.SendmsgN(int(fd), []byte("!"), nil, nil, syscall.MSG_OOB) })
}
