package httptask

// The body of a request that a task makes is read by net/http on goroutines of
// its own; a body that is code of the program is read in a task instead.

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// wrapBody lets the body of r be read where it belongs, and also another copy of it, which
// net/http gets by GetBody if it has to send the request again.
func (t *transport) wrapBody(r *http.Request) {
	r.Body = t.wrapped(r.Context(), r.Body)
	copyOf := r.GetBody
	if _, wrapped := r.Body.(*upload); !wrapped || copyOf == nil {
		return
	}
	ctx := r.Context()
	r.GetBody = func() (body io.ReadCloser, err error) {
		failure := t.inTask(ctx, func() { body, err = copyOf() })
		if failure != nil {
			return nil, failure
		}
		return t.wrapped(ctx, body), err
	}
}

// wrapped returns the body of a request with the context ctx, to be read where it belongs.
func (t *transport) wrapped(ctx context.Context, body io.ReadCloser) io.ReadCloser {
	switch body.(type) {
	case nil, *os.File, *io.PipeReader, bodyReader, *answerBody:
		return body // any goroutine may read it
	}
	if body == http.NoBody || inMemory(body) {
		return body
	}
	return &upload{t, ctx, body}
}

var nopClosers = [2]reflect.Type{
	reflect.TypeOf(io.NopCloser(nil)),
	reflect.TypeOf(io.NopCloser(new(bytes.Reader))), // it has a WriteTo
}

// inMemory reports whether body is what http.NewRequest makes of bytes and strings.
func inMemory(body io.ReadCloser) bool {
	if t := reflect.TypeOf(body); t != nopClosers[0] && t != nopClosers[1] {
		return false
	}
	switch reflect.ValueOf(body).Field(0).Interface().(type) {
	case *bytes.Buffer, *bytes.Reader, *strings.Reader:
		return true
	}
	return false
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
		if t.ctx.Err() != nil || kernel.Ended(t.ctx) {
			ended <- cmp.Or(context.Cause(t.ctx), context.Canceled)
			return
		}
		task = rondo.Go(t.ctx, func(context.Context) error {
			result := errGoexit
			defer func() { ended <- result }()
			fn()
			result = nil
			return nil
		})
		t.loop.SetExempt(task, true) // the task that waits for the request may be the last of a limit
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
