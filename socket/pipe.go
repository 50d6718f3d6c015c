package socket

// A Pipe is a connection in memory. It lives on its loop and needs no
// descriptor, so it works in a simulation as well.

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

// Pipe returns the two ends of a connection in memory. It behaves like
// net.Pipe: there is no buffer, so a Write returns when the other end has read
// all of it. A Read after the other end was closed returns io.EOF; any other
// operation on a closed pipe returns io.ErrClosedPipe. Deadlines and
// cancellation work as for sockets. Concurrent writes are not mixed.
//
// Any goroutine may use the ends. For a goroutine that is no task of the loop,
// the loop does the operation and the goroutine waits. When the loop ends the
// pipe is closed.
//
// A simulation does not wait for goroutines, so its clock could jump before one
// of them writes. There Read and Write of a goroutine fail with
// errors.ErrUnsupported, except in a function that rondo.Offload runs: simulated
// time stands still until that has returned.
//
// Pipe never suspends. It panics if ctx belongs to no loop.
func Pipe(ctx context.Context) (net.Conn, net.Conn) {
	loop, err := loopOf(ctx, "Pipe")
	if err != nil {
		panic(err)
	}
	there, back := &flow{}, &flow{}
	simulated := loop.Driver().Simulation() != nil
	a := &pipe{ctx: ctx, loop: loop, in: back, out: there, simulated: simulated}
	b := &pipe{ctx: ctx, loop: loop, in: there, out: back, simulated: simulated}
	// In a simulation nothing outside the loop can end a wait.
	for _, f := range []*flow{there, back} {
		f.read.Begin(loop, !simulated)
		f.write.Begin(loop, !simulated)
	}
	return a, b
}

// A flow is one direction: what one task offers at a time.
type flow struct {
	read, write fd.Side
	offered     bool        // a Write waits to be read
	data        []byte      // the part of it that has not been read
	readClosed  atomic.Bool // the end that reads is closed
	writeClosed atomic.Bool

	came, went bool // bytes were moved since activity of the end that reads, that writes
}

// A pipe is one end.
type pipe struct {
	ctx       context.Context
	loop      kernel.Loop
	in, out   *flow
	simulated bool // see Pipe
}

func (p *pipe) Read(b []byte) (int, error) {
	t := fd.TaskOf(p.loop, "Read")
	if t == nil {
		return p.onLoop("read", func() (int, error) { return p.Read(b) })
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
			f.came, f.went = true, true
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

// watchInput is fd.FD.WatchInput of a pipe.
func (p *pipe) watchInput(w fd.Watcher) (ready bool) {
	f := p.in
	if f.offered || f.readClosed.Load() || f.writeClosed.Load() || f.read.Check() != nil {
		return true
	}
	f.read.Watch(w)
	return false
}

// activity is fd.FD.Activity of a pipe.
func (p *pipe) activity() (read, wrote bool) {
	read, wrote = p.in.came, p.out.went
	p.in.came, p.out.went = false, false
	return read, wrote
}

func (p *pipe) Write(b []byte) (int, error) {
	t := fd.TaskOf(p.loop, "Write")
	if t == nil {
		return p.onLoop("write", func() (int, error) { return p.Write(b) })
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

// onLoop runs op, a read or a write, on the loop, for a goroutine that is no task
// of it.
func (p *pipe) onLoop(what string, op func() (int, error)) (int, error) {
	type result struct {
		n   int
		err error
	}
	answer := rondo.Submit(rondo.LoopOf(p.ctx), func(context.Context) (result, error) {
		if p.simulated && p.loop.Helpers() == 0 {
			return result{err: pipeError(what, errOutside{})}, nil
		}
		n, err := op()
		return result{n, err}, nil
	})
	var r result
	var err error
	wait := func() { r, err = answer.Wait(context.Background()) }
	if kernel.InsideAny() { // a task of another loop: it blocks as a goroutine does, and its loop with it
		waitForeign(wait)
	} else {
		wait()
	}
	switch {
	case err == nil:
		return r.n, r.err
	case p.simulated:
		// The loop has ended, perhaps in a deadlock because it did not wait.
		return 0, pipeError(what, errOutside{})
	}
	return 0, io.ErrClosedPipe // the loop has ended
}

// waitForeign calls wait on a goroutine that is in no loop, and blocks until it has returned.
func waitForeign(wait func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		wait()
	}()
	<-ended
}

// errOutside is the error of a goroutine that uses the pipe of a simulation.
type errOutside struct{}

func (errOutside) Error() string {
	return "a simulation does not wait for goroutines; use the pipe in a task, or in a function that rondo.Offload runs"
}

func (errOutside) Is(err error) bool { return err == errors.ErrUnsupported }

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

// pipeError returns err as net.Pipe would.
func pipeError(op string, err error) error {
	if err == nil || err == io.EOF || err == io.ErrClosedPipe {
		return err
	}
	return &net.OpError{Op: op, Net: "pipe", Err: err}
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
