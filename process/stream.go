package process

// This file lays the pipes between a child and this process: who gets which end,
// and what is copied.

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A stream is one copying, from or to a child.
type stream struct {
	run  func() error
	in   bool // to the child
	task *rondo.Task
	err  error
	done bool
}

// StdinPipe gives a pipe to the child's standard input. It is closed when the
// child has ended; a child that reads to the end needs it closed earlier. It
// never suspends. It fails if Stdin is set, or the child was started.
func (c *Cmd) StdinPipe() (io.WriteCloser, error) {
	if c.Stdin != nil {
		return nil, c.failed("StdinPipe", errors.New("the field Stdin is set already"))
	}
	r, w, err := c.pipe("StdinPipe")
	if err != nil {
		return nil, err
	}
	i, err := c.child.inlet(w)
	if err != nil {
		r.Close()
		return nil, c.failed("StdinPipe", err)
	}
	c.Stdin = r
	c.child.theirs = append(c.child.theirs, r)
	return i, nil
}

// StdoutPipe gives a pipe from the child's standard output. It may be read, by
// tasks and by other goroutines, before, during and after Wait; what the child
// wrote is never lost. It ends with the output of the child, and at the latest
// when the child has ended and Wait was called or WaitDelay is over. Whoever does
// not read it to the end should close it. It never suspends. It fails if Stdout
// is set, or the child was started.
func (c *Cmd) StdoutPipe() (io.ReadCloser, error) {
	return c.outPipe("StdoutPipe", &c.Stdout)
}

// StderrPipe is StdoutPipe for the child's standard error.
func (c *Cmd) StderrPipe() (io.ReadCloser, error) {
	return c.outPipe("StderrPipe", &c.Stderr)
}

func (c *Cmd) outPipe(call string, to *io.Writer) (io.ReadCloser, error) {
	if *to != nil {
		return nil, c.failed(call, errors.New("it is set already"))
	}
	r, w, err := c.pipe(call)
	if err != nil {
		return nil, err
	}
	o, err := c.child.outlet(r)
	if err != nil {
		w.Close()
		return nil, c.failed(call, err)
	}
	*to = w
	ch := &c.child
	ch.theirs = append(ch.theirs, w)
	ch.outlets = append(ch.outlets, o)
	ch.open++
	o.over = func() { ch.onLoop(func() { ch.open--; ch.news.WakeAll() }) }
	return o, nil
}

// pipe makes a pipe for the call named.
func (c *Cmd) pipe(call string) (r, w *os.File, err error) {
	if c.child.task != nil {
		return nil, nil, c.failed(call, errors.New("it was started before"))
	}
	if c.child.loop = kernel.Of(c.ctx); c.child.loop == nil {
		return nil, nil, c.failed(call, rondo.ErrNoLoop)
	}
	if err := fd.Supported(c.child.loop); err != nil {
		return nil, nil, c.failed(call, err)
	}
	if r, w, err = os.Pipe(); err != nil {
		return nil, nil, c.failed(call, err)
	}
	return r, w, nil
}

// inlet makes this side's end of an input pipe; w is its from here on.
func (ch *child) inlet(w *os.File) (*inlet, error) {
	f, err := fd.OfFile(ch.loop, w)
	if err != nil {
		return nil, err
	}
	i := &inlet{file: f}
	ch.inlets = append(ch.inlets, i)
	return i, nil
}

// outlet makes this side's end of an output pipe; r is its from here on.
func (ch *child) outlet(r *os.File) (*outlet, error) {
	f, err := fd.OfFile(ch.loop, r)
	if err != nil {
		return nil, err
	}
	return &outlet{file: f, over: func() {}}, nil
}

// plumb gives the standard library's Cmd its three files.
func (ch *child) plumb() error {
	c := ch.cmd
	if err := ch.plumbIn(c.Stdin); err != nil {
		return err
	}
	out, err := ch.plumbOut(c.Stdout)
	if err != nil {
		return err
	}
	if out != nil {
		ch.exit.std.Stdout = out
	}
	if c.Stderr == nil || !same(c.Stderr, c.Stdout) {
		if out, err = ch.plumbOut(c.Stderr); err != nil {
			return err
		}
	}
	if out != nil && c.Stderr != nil {
		ch.exit.std.Stderr = out
	}
	return nil
}

func (ch *child) plumbIn(from io.Reader) error {
	if from == nil {
		return nil
	}
	if f, ok := from.(*os.File); ok {
		ch.exit.std.Stdin = f
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	ch.theirs = append(ch.theirs, r)
	i, err := ch.inlet(w)
	if err != nil {
		return err
	}
	ch.exit.std.Stdin = r
	ch.streams = append(ch.streams, &stream{in: true, run: func() error {
		_, err := io.Copy(i, from)
		if errors.Is(err, syscall.EPIPE) {
			// A child need not read all that it is given.
			err = nil
		}
		i.end()
		return err
	}})
	return nil
}

func (ch *child) plumbOut(to io.Writer) (*os.File, error) {
	if to == nil {
		return nil, nil
	}
	if f, ok := to.(*os.File); ok {
		return f, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ch.theirs = append(ch.theirs, w)
	o, err := ch.outlet(r)
	if err != nil {
		return nil, err
	}
	ch.copied = append(ch.copied, o)
	ch.streams = append(ch.streams, &stream{run: func() error {
		_, err := io.Copy(to, o)
		// A child whose output nobody takes hears of it.
		_ = o.Close()
		return err
	}})
	return w, nil
}

// copy runs the streams in the scope.
func (ch *child) copy(g *rondo.Scope) {
	ch.copying = len(ch.streams)
	for _, s := range ch.streams {
		s.task = g.Go(func(context.Context) error {
			s.err = s.run()
			s.done = true
			ch.copying--
			ch.news.WakeAll()
			return nil
		})
		s.task.SetName("copy " + ch.cmd.name())
	}
}

// same tells whether two Writers are one.
func same(a, b io.Writer) (equal bool) {
	// Comparing values that cannot be compared panics: they are not one.
	defer func() { _ = recover() }()
	return a == b
}
