//go:build !rondo_portable

package soak

// This file has the servers of a round, and the peers that misbehave towards them.

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// serve starts an echo server of tasks and one of callbacks in g.
func (c *chaos) serve(g *rondo.Scope) error {
	server := &socket.Server{OnError: func(net.Conn, error) {}, Handler: func(ctx context.Context, conn net.Conn) error {
		c.running.Add(1)
		defer c.running.Add(-1)
		c.at("Server.Handler")
		_, err := io.Copy(conn, conn)
		return err
	}}
	protocol := &socket.Protocol{
		High: 1 << 10, Limit: 1 << 20,
		Connected:     func(*socket.Transport) { c.running.Add(1); c.at("Protocol.Connected") },
		Data:          func(tr *socket.Transport, p []byte) { c.at("Protocol.Data"); _, _ = tr.Write(p) },
		EOF:           func(*socket.Transport) bool { c.at("Protocol.EOF"); return false },
		Lost:          func(*socket.Transport, error) { c.running.Add(-1); c.at("Protocol.Lost") },
		PauseWriting:  func(tr *socket.Transport) { tr.PauseReading(); c.at("Protocol.PauseWriting") },
		ResumeWriting: func(tr *socket.Transport) { tr.ResumeReading(); c.at("Protocol.ResumeWriting") },
		OnError:       func(error) {},
	}
	for i, serve := range []func(context.Context, net.Listener) error{server.Serve, protocol.Serve} {
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

// visit connects to a server: as a task that is sent back what it sends, or by a
// goroutine that is a bad peer.
func (c *chaos) visit(ctx context.Context) error {
	c.counts[connections].Add(1)
	address := c.address[c.rnd.IntN(2)]
	if c.rnd.IntN(2) == 0 {
		rnd := c.another()
		c.outside.Go(func() { misbehave(address, rnd) })
		return rondo.Sleep(ctx, c.some(500))
	}
	return rondo.Timeout(ctx, c.some(20_000), func(ctx context.Context) error {
		conn, err := socket.Dial(ctx, "tcp", address)
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

// misbehave is a peer that stalls, sends bytes one by one, slowly, or urgent ones,
// does not read what comes back, and resets or closes in the middle of it.
func misbehave(address string, rnd *rand.Rand) {
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
	switch rnd.IntN(6) {
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
	case 4: // sends, and does not read
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
