package socket_test

// A connection that is used by tasks and by other goroutines.

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/socket"
)

// outside runs fn on a goroutine, while the task waits.
func outside(ctx context.Context, fn func() error) error {
	_, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 0, fn() })
	return err
}

// TestForeignWhileTheLoopStands: goroutines use connections while the task that
// waits for them blocks the whole loop. Many libraries do that.
func TestForeignWhileTheLoopStands(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		// Both have been used by tasks.
		if err := both(ctx, func(context.Context) error { _, err := a.Write([]byte("x")); return err },
			func(context.Context) error { _, err := b.Read(make([]byte, 1)); return err }); err != nil {
			return err
		}
		results := make(chan error, 3)
		l := listen(t, ctx)
		go func() { results <- echoOnce(a) }()
		go func() { results <- say(b, "hello") }()
		go func() {
			c, err := socket.Dial(ctx, "tcp", l.Addr().String())
			if err != nil {
				results <- err
				return
			}
			defer c.Close()
			d, err := l.Accept()
			if err != nil {
				results <- err
				return
			}
			defer d.Close()
			go say(c, "again")
			results <- echoOnce(d)
		}()
		var err error
		for range cap(results) {
			err = errors.Join(err, <-results)
		}
		return err
	})
}

func echoOnce(c net.Conn) error {
	p := make([]byte, 5)
	if _, err := io.ReadFull(c, p); err != nil {
		return err
	}
	_, err := c.Write(p)
	return err
}

func say(c net.Conn, what string) error {
	if _, err := io.WriteString(c, what); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, len(what)))
	return err
}

// TestDeadlineOnBothDescriptors: a deadline also holds for the descriptor that is
// opened later.
func TestDeadlineOnBothDescriptors(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		read := func() error {
			_, err := a.Read(make([]byte, 1))
			return err
		}
		if err := a.SetDeadline(time.Unix(1, 0)); err != nil {
			return err
		}
		timedOut(t, "Read in a task", read())
		timedOut(t, "Read in a goroutine", outside(ctx, read))
		if err := outside(ctx, func() error { return a.SetDeadline(time.Time{}) }); err != nil {
			return err
		}
		for _, op := range []func() error{read, func() error { return outside(ctx, read) }} {
			if _, err := b.Write([]byte("x")); err != nil {
				return err
			}
			if err := op(); err != nil {
				t.Error(err)
			}
		}

		// The other way: accepted and given a deadline by a goroutine, and first
		// used by a task after that.
		l := listen(t, ctx)
		c, err := socket.Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		var d net.Conn
		err = outside(ctx, func() (err error) {
			if d, err = l.Accept(); err == nil {
				err = d.SetReadDeadline(time.Unix(1, 0))
			}
			return err
		})
		if err != nil {
			return err
		}
		defer d.Close()
		_, err = d.Read(make([]byte, 1))
		timedOut(t, "Read in a task", err)
		return nil
	})
}

// TestOptionsOnBothDescriptors: opening the second descriptor changes no option.
func TestOptionsOnBothDescriptors(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		if err := a.SetNoDelay(false); err != nil {
			return err
		}
		if err := a.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 77 * time.Second}); err != nil {
			return err
		}
		if err := both(ctx, func(ctx context.Context) error { return outside(ctx, func() error { return say(a, "hello") }) },
			func(context.Context) error { return echoOnce(b) }); err != nil {
			return err
		}
		checkOptions(t, "two-faced", a, 0, 77)
		return nil
	})
}

// TestLoopEnded: connections and listeners outlive their loop, for goroutines,
// until they are closed.
func TestLoopEnded(t *testing.T) {
	before := leak.Descriptors()
	var a, b *socket.Conn
	var l *socket.Listener
	run(t, func(ctx context.Context) (err error) {
		a, b = pair(t, ctx)
		l, err = socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		// All have been used by tasks, and are known to the driver.
		for _, wait := range []func() error{
			func() error { _, err := a.Read(make([]byte, 1)); return err },
			func() error { _, err := l.Accept(); return err },
		} {
			if err := rondo.Timeout(ctx, time.Millisecond, func(context.Context) error { return wait() }); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		return nil
	})
	done := make(chan error)
	go func() { done <- say(a, "hello") }()
	if err := echoOnce(b); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	go func() {
		c, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			c.Close()
		}
		done <- err
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, closer := range []io.Closer{a, b, c, l} {
		if err := closer.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := leak.Descriptors(); n > before {
		t.Errorf("%d descriptors before, %d after", before, n)
	}
}

// TestForgottenLeaveNothing: a connection, a listener or a datagram socket that nobody has any
// more is closed by the garbage collector while its loop runs, also if a task has waited for it.
// It is counted no longer, and no object is left of each. What is kept for later, some hundred
// objects, grows once.
func TestForgottenLeaveNothing(t *testing.T) {
	const n = 200
	run(t, func(ctx context.Context) error {
		before := leak.Descriptors()
		var after [5]uint64
		grown := 0
		for i := range after {
			for range n {
				if err := forget(t, ctx); err != nil {
					return err
				}
			}
			// The descriptors of the loop are closed by the loop. The driver may keep one.
			for leak.Descriptors() > before || connsOf(ctx) > 0 {
				runtime.GC()
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			after[i] = objects()
			if i > 0 && after[i] > after[i-1]+n {
				grown++
			}
		}
		if grown == len(after)-1 {
			t.Errorf("%d objects after each %d times", after, n)
		}
		return nil
	})
}

// forget opens sockets, waits for each, and forgets them.
func forget(t *testing.T, ctx context.Context) error {
	_, b := openPair(t, ctx, "tcp")
	l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p, err := socket.ListenPacket(ctx, "udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	for _, wait := range []func() error{
		func() error { _, err := b.Read(make([]byte, 1)); return err },
		func() error { _, err := l.Accept(); return err },
		func() error { _, _, err := p.ReadFrom(make([]byte, 1)); return err },
	} {
		err := rondo.Timeout(ctx, time.Microsecond, func(context.Context) error { return wait() })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	}
	return nil
}

// TestDropped: after its loop has ended, a forgotten connection is closed by
// the garbage collector, as in package net.
func TestDropped(t *testing.T) {
	before := leak.Descriptors()
	run(t, func(ctx context.Context) error {
		for range 10 {
			a, b := openPair(t, ctx, "tcp")
			if err := outside(ctx, func() error { return a.SetDeadline(time.Now()) }); err != nil {
				return err
			}
			if err := rondo.Timeout(ctx, 0, func(context.Context) error { _, err := b.Read(make([]byte, 1)); return err }); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		return nil
	})
	for leak.Descriptors() > before {
		runtime.GC()
	}
}
