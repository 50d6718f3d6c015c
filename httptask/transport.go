package httptask

// The client sends requests of net/http from tasks.
//
// The law: net/http's client runs on goroutines, the code of the program on the loop.
// So a request is made on a goroutine while its task is suspended, and a body that is
// code of the program is read in a task.

import (
	"context"
	"io"
	"net/http"

	"github.com/rondo-go/rondo/internal/kernel"
)

// Client returns an http.Client for tasks of ctx's loop: one with Transport(ctx, nil).
// It panics if ctx belongs to no loop.
func Client(ctx context.Context) *http.Client {
	return &http.Client{Transport: newTransport(ctx, nil, "Client")}
}

// Transport returns an http.RoundTripper for tasks of ctx's loop, which makes requests by base:
// nil stands for http.DefaultTransport. A task that makes a request, or reads the body of an
// answer, is suspended until there is something. If the task, or the context of the request, is
// cancelled, the request ends, and what waits returns the cause. Close the body of each answer,
// as with net/http. After 101 Switching Protocols it is also an io.Writer, and has a CloseWrite if
// that of base has.
//
// The body of a request is read in a task of ctx's scope, so its Read may suspend and
// may use what tasks share. An *os.File, an *io.PipeReader and what http.NewRequest makes
// of bytes and strings are read by net/http's goroutines.
//
// Goroutines that run no task may use the RoundTripper as well; they simply block. On a host of
// a sim.Cluster an *http.Transport makes requests if sim.Config.Goroutines is set and if its
// DialContext dials on the network of the host, as docs/CLUSTERS.md shows; else RoundTrip returns
// an error that says so. Transport panics if ctx belongs to no loop.
func Transport(ctx context.Context, base http.RoundTripper) http.RoundTripper {
	return newTransport(ctx, base, "Transport")
}

func newTransport(ctx context.Context, base http.RoundTripper, call string) *transport {
	t := &transport{ctx: ctx, loop: loopOf(ctx, call), base: base}
	if base == nil {
		t.base = http.DefaultTransport
	}
	return t
}

type transport struct {
	ctx  context.Context
	loop kernel.Loop
	base http.RoundTripper
}

// CloseIdleConnections does what it does for base.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// refusal returns an error if a request would be made on the network of the machine, though the
// loop is that of a simulated host.
func (t *transport) refusal() error {
	base, real := t.base.(*http.Transport)
	switch {
	case !real || !inCluster(t.loop):
		return nil
	case !t.loop.Driver().Simulation().Settles():
		return errCluster
	case base.DialContext == nil, t.base == http.DefaultTransport:
		return errMachine
	}
	return nil
}

// RoundTrip makes a request and returns when the answer begins.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.refusal(); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	out := r.WithContext(ctx)
	t.wrapBody(out)
	task := taskOf(t.loop, "an HTTP client")
	var answer *http.Response
	begun := false
	ask := func() (err error) {
		begun = true
		answer, err = t.base.RoundTrip(out)
		return err
	}
	var err error
	if task == nil {
		err = ask()
	} else {
		err = t.away(task, cancel, ask)
	}
	if !begun && r.Body != nil {
		r.Body.Close() // the task was cancelled, and a RoundTripper closes it always
	}
	if err != nil || answer == nil { // for both nil http.Client has an error
		cancel(nil)
		return nil, err
	}
	answer.Request = r
	if answer.Body == nil || answer.Body == http.NoBody {
		cancel(nil)
		return answer, nil
	}
	w, writes := answer.Body.(io.Writer) // after 101 Switching Protocols
	b := &answerBody{transport: t, source: answer.Body, cancel: cancel, stream: writes}
	half, halfCloses := answer.Body.(halfCloser)
	switch {
	case writes && halfCloses:
		answer.Body = &halfStream{answerStream{b, w}, half}
	case writes:
		answer.Body = &answerStream{b, w}
	default:
		answer.Body = b
	}
	return answer, nil
}

// away is away for a request whose context cancel ends.
func (t *transport) away(task kernel.Task, cancel context.CancelCauseFunc, fn func() error) error {
	return away(t.loop, task, "http", fn, func() {
		cancel(context.Cause(task.Scope()))
	})
}

// An answerBody is the body of an answer. Tasks that read it are suspended.
type answerBody struct {
	transport *transport
	source    io.ReadCloser
	cancel    context.CancelCauseFunc // ends the request
	stream    bool                    // source outlives the request
}

func (b *answerBody) Read(p []byte) (n int, err error) {
	task := taskOf(b.transport.loop, "the body of an answer")
	if task == nil {
		n, err = b.source.Read(p)
	} else {
		err = b.transport.away(task, b.interrupt, func() (err error) {
			n, err = b.source.Read(p)
			return err
		})
	}
	if err != nil {
		b.cancel(nil)
	}
	return n, err
}

// interrupt ends the request, and what waits for its body, for a task that was cancelled.
func (b *answerBody) interrupt(cause error) {
	b.cancel(cause)
	if b.stream {
		loop := b.transport.loop
		loop.GoFunc(func() { notice(loop, contain("Close of an answer's body", b.source.Close)) })
	}
}

// Close ends the request.
func (b *answerBody) Close() error {
	task := taskOf(b.transport.loop, "the body of an answer")
	defer b.cancel(nil)
	if task == nil {
		return b.source.Close()
	}
	return awayToEnd(b.transport.loop, task, "http", b.source.Close)
}

// An answerStream is the connection that follows the answer 101.
type answerStream struct {
	*answerBody
	sink io.Writer
}

func (s *answerStream) Write(p []byte) (n int, err error) {
	err = s.do(func() (err error) {
		n, err = s.sink.Write(p)
		return err
	})
	return n, err
}

// do calls fn, which may block, and suspends a task meanwhile.
func (s *answerStream) do(fn func() error) error {
	task := taskOf(s.transport.loop, "the body of an answer")
	if task == nil {
		return fn()
	}
	return s.transport.away(task, s.interrupt, fn)
}

// A halfStream is an answerStream whose sending side can end alone. httputil.ReverseProxy asks
// whether it has the method.
type halfStream struct {
	answerStream
	half halfCloser
}

// CloseWrite ends the sending side, and leaves the request as it is.
func (s *halfStream) CloseWrite() error { return s.do(s.half.CloseWrite) }
