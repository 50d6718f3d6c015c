package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// turns lets other tasks run for n turns.
func turns(ctx context.Context, n int) error {
	for range n {
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
	}
	return nil
}

// TestFailuresTakeTurns: a task that repeats a failing operation lets others
// run.
func TestFailuresTakeTurns(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, _ := pair(t, ctx)
		l := listen(t, ctx)
		u := packets(t, ctx, "udp", "127.0.0.1:0")
		p, q := socket.Pipe(ctx)
		defer p.Close()
		defer q.Close()
		raw, err := a.SyscallConn()
		if err != nil {
			return err
		}
		file, err := os.Open("turn_test.go")
		if err != nil {
			return err
		}
		defer file.Close()
		past := time.Unix(1, 0)
		for _, c := range []interface{ SetDeadline(time.Time) error }{a, l, u, p} {
			if err := c.SetDeadline(past); err != nil {
				return err
			}
		}
		read := func(c net.Conn) func() error {
			return func() error { _, err := c.Read(make([]byte, 1)); return err }
		}
		write := func(c net.Conn) func() error {
			return func() error { _, err := c.Write(make([]byte, 1)); return err }
		}
		for name, op := range map[string]func() error{
			"Read": read(a), "Write": write(a), "Pipe Read": read(p), "Pipe Write": write(p), "UDP Read": read(u),
			"ReadFrom": func() error { // some systems read the file first
				if _, err := file.Seek(0, io.SeekStart); err != nil {
					t.Error(err)
				}
				_, err := io.Copy(a, file)
				return err
			},
			"Accept":   func() error { _, err := l.Accept(); return err },
			"WriteTo":  func() error { _, err := u.WriteTo(nil, u.LocalAddr()); return err },
			"ReadMsg":  func() error { _, _, _, _, err := u.ReadMsgUDP(nil, nil); return err },
			"raw Read": func() error { return raw.Read(func(uintptr) bool { return true }) },
		} {
			others := false
			rondo.Go(ctx, func(context.Context) error { others = true; return nil })
			for range 100 {
				if op() == nil {
					t.Errorf("%s past its deadline did not fail", name)
				}
			}
			if !others {
				t.Errorf("%s failed 100 times, and nobody else had a turn", name)
			}
		}
		return nil
	})
}

// TestTakeTurns: a task whose operations never have to wait lets others run; also in a simulation.
func TestTakeTurns(t *testing.T) {
	turns := func(ctx context.Context, what string, op func() error) error {
		others := false
		rondo.Go(ctx, func(context.Context) error { others = true; return nil })
		for range 40 {
			if err := op(); err != nil {
				return err
			}
		}
		if !others {
			t.Errorf("%s succeeded 40 times, and nobody else had a turn", what)
		}
		return nil
	}
	send := func(ctx context.Context) error {
		u, err := socket.ListenPacket(ctx, "udp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		for range 40 {
			c, err := socket.Dial(ctx, "tcp", l.Addr().String())
			if err != nil {
				return err
			}
			defer c.Close()
		}
		p := make([]byte, 1)
		err = turns(ctx, "WriteTo", func() error { _, err := u.WriteTo(p, u.LocalAddr()); return err })
		if sim.HostOf(ctx) != nil {
			_ = rondo.Sleep(ctx, time.Minute) // here datagrams take their time
		}
		return errors.Join(err,
			turns(ctx, "ReadFrom", func() error { _, _, err := u.ReadFrom(p); return err }),
			turns(ctx, "Accept", func() error {
				c, err := l.Accept()
				if err != nil {
					return err
				}
				return c.Close()
			}), u.Close(), l.Close())
	}
	(&sim.Config{Seeds: 5, Exact: true}).Cluster(t, func(ctx context.Context, _ *sim.World) {
		if err := send(ctx); err != nil {
			t.Error(err)
		}
	})
}
