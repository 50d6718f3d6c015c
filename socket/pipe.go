package socket

// This file has Pipe: a connection in memory. It lives wholly on its loop, needs
// no descriptor, and so works in a simulation as well.

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// Pipe makes a connection in memory and gives its two ends. It behaves like
// net.Pipe: there is no buffer, so a Write is done when the other end has read
// all of it; reading what the other end has closed gives io.EOF, and whatever
// else is done to a closed pipe io.ErrClosedPipe. Deadlines hold as for sockets,
// and so does cancellation. What several tasks write at once is not mixed.
//
// Any goroutine may use the ends; for one that is no task of the loop, the loop
// does what it asks while it waits. When the loop has ended the pipe is closed.
//
// Pipe never suspends. It panics if ctx belongs to no loop.
func Pipe(ctx context.Context) (net.Conn, net.Conn) {
	loop, err := loopOf(ctx, "Pipe")
	if err != nil {
		panic(err)
	}
	there, back := &flow{}, &flow{}
	a := &pipe{ctx: ctx, loop: loop, in: back, out: there}
	b := &pipe{ctx: ctx, loop: loop, in: there, out: back}
	// Nobody outside a simulation can end a wait in it.
	outside := !loop.Driver().Virtual()
	for _, f := range []*flow{there, back} {
		f.read.Begin(loop, outside)
		f.write.Begin(loop, outside)
	}
	return a, b
}

// A flow is what goes from one end to the other: what one task offers at a time.
type flow struct {
	read, write fd.Side
	offered     bool        // there is an offer,
	data        []byte      // and this much of it has not been read
	readClosed  atomic.Bool // the end that reads is closed
	writeClosed atomic.Bool
}

// A pipe is one end.
type pipe struct {
	ctx     context.Context
	loop    kernel.Loop
	in, out *flow
}

func (p *pipe) Read(b []byte) (int, error) {
	t := fd.TaskOf(p.loop, "Read")
	if t == nil {
		return p.onLoop(func() (int, error) { return p.Read(b) })
	}
	f := p.in
	if err := f.read.Take(t); err != nil {
		return 0, pipeError("read", err)
	}
	n, err := f.receive(t, b)
	f.read.Release()
	t.Spend(n)
	return n, pipeError("read", err)
}

// receive reads from the offer, and waits for one.
func (f *flow) receive(t kernel.Task, b []byte) (int, error) {
	for err := f.read.Enter(t); ; err = nil {
		switch {
		case f.readClosed.Load():
			return 0, io.ErrClosedPipe
		case f.writeClosed.Load():
			return 0, io.EOF
		case err == nil:
			err = f.read.Check()
		}
		if err != nil {
			return 0, err
		}
		if f.offered {
			n := copy(b, f.data)
			if f.data = f.data[n:]; len(f.data) == 0 {
				f.offered = false
				f.write.Wake()
			}
			return n, nil
		}
		if err := f.read.Park(t, kernel.Reason{What: "pipe read"}); err != nil {
			return 0, err
		}
	}
}

func (p *pipe) Write(b []byte) (int, error) {
	t := fd.TaskOf(p.loop, "Write")
	if t == nil {
		return p.onLoop(func() (int, error) { return p.Write(b) })
	}
	f := p.out
	if err := f.write.Take(t); err != nil {
		return 0, pipeError("write", err)
	}
	n, err := f.send(t, b)
	f.write.Release()
	if err != nil {
		t.Spend(0)
	}
	return n, pipeError("write", err)
}

// send offers b, and waits until all of it has been read.
func (f *flow) send(t kernel.Task, b []byte) (int, error) {
	err := f.writable()
	if err == nil {
		err = f.write.Enter(t)
	}
	if err != nil {
		return 0, err
	}
	f.offered, f.data = true, b
	f.read.Wake()
	for f.offered && err == nil {
		err = f.write.Park(t, kernel.Reason{What: "pipe write"})
		if f.offered && err == nil {
			err = f.writable()
		}
	}
	if !f.offered {
		// It was read, whatever has happened since.
		f.data = nil
		return len(b), nil
	}
	n := len(b) - len(f.data)
	f.offered, f.data = false, nil
	return n, err
}

func (f *flow) writable() error {
	if f.writeClosed.Load() || f.readClosed.Load() {
		return io.ErrClosedPipe
	}
	return f.write.Check()
}

// foreign has the loop do what a goroutine that is none of its tasks asks for.
func (p *pipe) onLoop(op func() (int, error)) (int, error) {
	type result struct {
		n   int
		err error
	}
	r, err := rondo.Submit(rondo.LoopOf(p.ctx), func(context.Context) (result, error) {
		n, err := op()
		return result{n, err}, nil
	}).Wait(context.Background())
	if err != nil {
		return 0, io.ErrClosedPipe // the loop has ended
	}
	return r.n, r.err
}

func (p *pipe) Close() error {
	p.in.readClosed.Store(true)
	p.out.writeClosed.Store(true)
	on(p.loop, func() {
		p.in.read.End()
		p.in.write.Wake()
		p.out.write.End()
		p.out.read.Wake()
	})
	return nil
}

func (p *pipe) LocalAddr() net.Addr  { return pipeAddr{} }
func (p *pipe) RemoteAddr() net.Addr { return pipeAddr{} }

func (p *pipe) SetDeadline(t time.Time) error {
	return errors.Join(p.SetReadDeadline(t), p.SetWriteDeadline(t))
}

func (p *pipe) SetReadDeadline(t time.Time) error { return p.setDeadline(&p.in.read, t) }

func (p *pipe) SetWriteDeadline(t time.Time) error { return p.setDeadline(&p.out.write, t) }

func (p *pipe) setDeadline(s *fd.Side, t time.Time) error {
	if p.in.readClosed.Load() || p.in.writeClosed.Load() {
		return io.ErrClosedPipe
	}
	on(p.loop, func() { s.SetDeadline(t) })
	return nil
}

// fault makes an error what net.Pipe would return.
func pipeError(op string, err error) error {
	if err == nil || err == io.EOF || err == io.ErrClosedPipe {
		return err
	}
	return &net.OpError{Op: op, Net: "pipe", Err: err}
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
