//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/socket"
)

// A thrower calls boom where one function of the user stands. boom panics or
// calls runtime.Goexit at its first call.
type thrower struct {
	server bool // the function is called for a peer: its panic ends that connection alone
	body   func(t *testing.T, ctx context.Context, boom func()) error
}

// throwingProtocol is a body with three connections of p. act makes p call boom.
func throwingProtocol(p func(boom func()) *socket.Protocol, act func(tr *socket.Transport, peer *socket.Conn)) thrower {
	return thrower{server: true, body: func(t *testing.T, ctx context.Context, boom func()) error {
		protocol := p(boom)
		var reported rondo.Event
		protocol.OnError = func(err error) {
			if reported.IsSet() {
				t.Errorf("reported again: %v", err)
			}
			reported.Set()
		}
		var mine, peers [3]*socket.Conn
		for i := range mine {
			mine[i], peers[i] = pair(t, ctx)
			defer peers[i].Close()
		}
		for i, c := range mine {
			tr, err := protocol.Attach(ctx, c)
			if err != nil {
				return err
			}
			act(tr, peers[i])
		}
		return reported.Wait(ctx)
	}}
}

func sendByte(_ *socket.Transport, peer *socket.Conn) { _, _ = peer.Write([]byte("x")) }

// overfill writes until more than High is buffered, so that writing is paused: a system that
// takes the most part of a Write leaves less.
func overfill(tr *socket.Transport) {
	for tr.Buffered() <= 64<<10 {
		if _, err := tr.Write(make([]byte, 1<<20)); err != nil {
			return // the loop ends
		}
	}
}

// nobody is an address where nobody listens.
const nobody = "127.0.0.1:1"

var throwers = map[string]thrower{
	"Connected": throwingProtocol(func(boom func()) *socket.Protocol {
		return &socket.Protocol{Connected: func(*socket.Transport) { boom() }}
	}, sendByte),
	"EOF": throwingProtocol(func(boom func()) *socket.Protocol {
		return &socket.Protocol{EOF: func(*socket.Transport) bool { boom(); return true }}
	}, func(_ *socket.Transport, peer *socket.Conn) { peer.CloseWrite() }),
	"PauseWriting": throwingProtocol(func(boom func()) *socket.Protocol {
		return &socket.Protocol{Connected: overfill, PauseWriting: func(*socket.Transport) { boom() }}
	}, sendByte),
	"ResumeWriting": throwingProtocol(func(boom func()) *socket.Protocol {
		return &socket.Protocol{Connected: overfill, ResumeWriting: func(*socket.Transport) { boom() }}
	}, func(tr *socket.Transport, peer *socket.Conn) {
		rondo.Go(tr.Context(), func(context.Context) error { _, _ = io.Copy(io.Discard, peer); return nil })
	}),
	"Dialer.Control": {body: func(_ *testing.T, ctx context.Context, boom func()) error {
		d := socket.Dialer{Control: func(string, string, syscall.RawConn) error { boom(); return nil }}
		_, err := d.DialContext(ctx, "tcp", nobody)
		return err
	}},
	"Dialer.Control of one of two addresses": {body: func(_ *testing.T, ctx context.Context, boom func()) error {
		d := socket.Dialer{Control: func(string, string, syscall.RawConn) error { boom(); return nil }}
		_, err := d.DialContext(ctx, "tcp", "localhost:1")
		return err
	}},
	"Dialer.ControlContext": {body: func(_ *testing.T, ctx context.Context, boom func()) error {
		d := socket.Dialer{ControlContext: func(context.Context, string, string, syscall.RawConn) error { boom(); return nil }}
		_, err := d.DialContext(ctx, "udp", nobody)
		return err
	}},
	"ListenConfig.Control": {body: func(_ *testing.T, ctx context.Context, boom func()) error {
		lc := socket.ListenConfig{Control: func(string, string, syscall.RawConn) error { boom(); return nil }}
		_, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
		return err
	}},
	"ListenConfig.Control of a packet socket": {body: func(_ *testing.T, ctx context.Context, boom func()) error {
		lc := socket.ListenConfig{Control: func(string, string, syscall.RawConn) error { boom(); return nil }}
		_, err := lc.ListenPacket(ctx, "udp", "127.0.0.1:0")
		return err
	}},
	"RawConn.Read": {body: func(t *testing.T, ctx context.Context, boom func()) error {
		a, b := pair(t, ctx)
		defer a.Close()
		defer b.Close()
		raw, err := a.SyscallConn()
		if err != nil {
			return err
		}
		return raw.Read(func(uintptr) bool { boom(); return true })
	}},
	"Reader of ReadFrom": {body: func(t *testing.T, ctx context.Context, boom func()) error {
		a, b := pair(t, ctx)
		defer a.Close()
		defer b.Close()
		_, err := a.ReadFrom(reader(func([]byte) (int, error) { boom(); return 0, io.EOF }))
		return err
	}},
}

type reader func(p []byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

// ending is how a Run ended: if it neither returned nor panicked, it called
// runtime.Goexit.
type ending struct {
	err      error
	panicked any
	returned bool
}

func runUntilEnd(t *testing.T, recovers bool, body thrower, throw func()) (e ending, reported error) {
	var thrown bool
	boom := func() {
		if !thrown {
			thrown = true
			throw()
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { e.panicked = recover() }()
		r := rondo.Runner{Recover: recovers, OnError: func(_ rondo.TaskInfo, err error) { reported = errors.Join(reported, err) }}
		e.err = r.Run(context.Background(), func(ctx context.Context) error { return body.body(t, ctx, boom) })
		e.returned = true
	}()
	<-done
	if !thrown {
		t.Error("the function was not called")
	}
	return e, reported
}

// TestThrowers: wherever a function of the user panics or calls runtime.Goexit, Run ends as it
// says, and no goroutine and no descriptor is left. Package containment has the other places.
func TestThrowers(t *testing.T) {
	for name, body := range throwers {
		t.Run(name, func(t *testing.T) {
			goroutines, fds := runtime.NumGoroutine(), leak.Descriptors()

			e, _ := runUntilEnd(t, false, body, func() { panic("boom") })
			if _, ok := e.panicked.(*rondo.PanicError); ok == body.server || e.returned != body.server {
				t.Errorf("after a panic: %+v", e)
			}
			settled(t, goroutines, fds)

			e, reported := runUntilEnd(t, true, body, func() { panic("boom") })
			var p *rondo.PanicError
			if !e.returned || !body.server && !errors.As(errors.Join(e.err, reported), &p) {
				t.Errorf("after a panic, with Recover: %+v, %v", e, reported)
			}
			settled(t, goroutines, fds)

			if e, _ := runUntilEnd(t, false, body, runtime.Goexit); e.returned || e.panicked != nil {
				t.Errorf("after Goexit: %+v", e)
			}
			settled(t, goroutines, fds)
		})
	}
}
