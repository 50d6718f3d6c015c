package process

// The pipes between a child and this process: who gets which end, and
// what is copied.

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A stream copies to or from a child.
type stream struct {
	run   func() error
	in    bool // to the child
	task  *rondo.Task
	err   error // of run
	fault error // a panic in run
	done  bool
}

// StdinPipe returns a pipe to the child's standard input. It is closed when the child
// has ended. A child that reads to the end needs it closed earlier. StdinPipe never
// suspends. It fails if Stdin is set, or the child was started.
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

// StdoutPipe returns a pipe from the child's standard output. Tasks and other
// goroutines may read it before, during and after Wait. What the child wrote is never
// lost. The pipe ends with the output of the child, and at the latest when the child
// has ended and Wait was called or WaitDelay is over. A caller that does not read it
// to the end should close it. StdoutPipe never suspends. It fails if Stdout is set,
// or the child was started.
func (c *Cmd) StdoutPipe() (io.ReadCloser, error) {
	return c.outPipe("StdoutPipe", &c.Stdout)
}

// StderrPipe is StdoutPipe for the child's standard error.
func (c *Cmd) StderrPipe() (io.ReadCloser, error) {
	return c.outPipe("StderrPipe", &c.Stderr)
}

func (c *Cmd) outPipe(call string, to *io.Writer) (io.ReadCloser, error) {
	if *to != nil {
		return nil, c.failed(call, errors.New("the field is set already"))
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
	o.over = func() { ch.onLoop(func() { ch.open--; ch.changed.WakeAll() }) }
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

// inlet makes this side's end of an input pipe. It takes w over.
func (ch *child) inlet(w *os.File) (*inlet, error) {
	f, err := fd.OfFile(ch.loop, w)
	if err != nil {
		return nil, err
	}
	i := &inlet{file: f}
	ch.inlets = append(ch.inlets, i)
	return i, nil
}

// outlet makes this side's end of an output pipe. It takes r over.
func (ch *child) outlet(r *os.File) (*outlet, error) {
	f, err := fd.OfFile(ch.loop, r)
	if err != nil {
		return nil, err
	}
	return &outlet{file: f, over: func() {}}, nil
}

// connect sets the three standard files of the standard library's Cmd.
func (ch *child) connect() error {
	c := ch.cmd
	if err := ch.connectIn(c.Stdin); err != nil {
		return err
	}
	out, err := ch.connectOut(c.Stdout)
	if err != nil {
		return err
	}
	if out != nil {
		ch.exit.std.Stdout = out
	}
	if c.Stderr == nil || !same(c.Stderr, c.Stdout) {
		if out, err = ch.connectOut(c.Stderr); err != nil {
			return err
		}
	}
	if out != nil && c.Stderr != nil {
		ch.exit.std.Stderr = out
	}
	return nil
}

func (ch *child) connectIn(from io.Reader) error {
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
		defer i.end()
		_, err := io.Copy(i, from)
		if i.unread() {
			// A child need not read all of its input.
			err = nil
		}
		return err
	}})
	return nil
}

func (ch *child) connectOut(to io.Writer) (*os.File, error) {
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
		// If the copying fails, the child's next write must fail too.
		defer o.Close()
		_, err := io.Copy(to, o)
		return err
	}})
	return w, nil
}

// copy runs the streams in the scope g. A panic in one does not cancel the others.
func (ch *child) copy(g *rondo.Scope) {
	ch.copying = len(ch.streams)
	for _, s := range ch.streams {
		s.task = rondo.Go(g, func(ctx context.Context) error {
			defer func() {
				s.done = true
				ch.copying--
				ch.changed.WakeAll()
			}()
			s.fault = contained(ctx, func() { s.err = s.run() })
			return nil
		})
		s.task.SetName("copy " + ch.cmd.name())
	}
}

// contained calls fn. If the panic of a task is its error, it returns a panic of fn, and does not
// fail the scope of the task: it panics again in a task of a new scope.
func contained(ctx context.Context, fn func()) (fault error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if _, has := v.(*rondo.PanicError); !has {
			v = &rondo.PanicError{Task: rondo.Current(ctx).Name(), Value: v, Stack: debug.Stack()}
		}
		fault = rondo.Shield(ctx, func(ctx context.Context) error {
			rondo.Go(ctx, func(context.Context) error { panic(v) })
			return nil
		})
	}()
	fn()
	return nil
}

// same reports whether two Writers are the same.
func same(a, b io.Writer) (equal bool) {
	// A comparison of values that are not comparable panics. They are not the same.
	defer func() { _ = recover() }()
	return a == b
}
