package httptask

// The body of a request that a task makes is read by net/http on goroutines of
// its own; a body that is code of the program is read in a task instead.

import (
	"context"
	"io"
	"net/http"
	"os"

	"github.com/rondo-go/rondo"
)

// wrapBody lets the body of r be read where it belongs.
func (t *transport) wrapBody(r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody || r.GetBody != nil {
		return // nothing, or a copy of bytes
	}
	switch r.Body.(type) {
	case *os.File, *io.PipeReader, bodyReader, *answerBody:
		return // any goroutine may read it
	}
	r.Body = &upload{t, r.Context(), r.Body}
}

// An upload is a body whose Read and Close are called in tasks.
type upload struct {
	transport *transport
	request   context.Context // ends a Read
	source    io.ReadCloser
}

func (u *upload) Read(p []byte) (n int, err error) {
	failure := u.transport.inTask(u.request, func() { n, err = u.source.Read(p) })
	if failure != nil {
		return 0, failure
	}
	return n, err
}

// Close closes the body in any case, as net/http promises: it may hold a file. If the scope of
// the Transport is cancelled or has ended, a task of the loop's root scope does it, and after the
// end of the loop the calling goroutine.
func (u *upload) Close() (err error) {
	t, begun := u.transport, false
	shut := func() {
		begun = true
		err = u.source.Close()
	}
	failure := t.inTask(context.Background(), shut)
	if !begun {
		root := rondo.Submit(rondo.LoopOf(t.ctx), func(ctx context.Context) (struct{}, error) {
			return struct{}{}, rondo.Contain(ctx, func(context.Context) error { shut(); return nil })
		})
		_, failure = root.Wait(context.Background())
	}
	if !begun {
		return u.source.Close()
	}
	if failure != nil {
		return failure
	}
	return err
}

// inTask calls fn in a task, which is cancelled with ctx, and returns when fn has.
// net/http's goroutines call it.
func (t *transport) inTask(ctx context.Context, fn func()) error {
	if t.loop.Inside() {
		fn()
		return nil
	}
	ended := make(chan error, 1)
	var task *rondo.Task // touched on the loop only
	post := rondo.LoopOf(t.ctx).Post
	err := post(func() {
		if t.ctx.Err() != nil {
			ended <- context.Cause(t.ctx)
			return
		}
		task = rondo.Go(t.ctx, func(context.Context) error {
			result := errGoexit
			defer func() { ended <- result }()
			fn()
			result = nil
			return nil
		})
	})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		_ = post(func() { // if the loop has ended, so has the task
			if task != nil {
				task.Cancel(context.Cause(ctx))
			}
		})
	})()
	return <-ended
}
