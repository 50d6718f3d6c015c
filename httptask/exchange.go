package httptask

// An exchange carries one request between net/http's goroutine and the task that
// runs its handler.
//
// The law: the goroutine stays in ServeHTTP until the task has ended, and until every
// call into net/http has returned. Meanwhile it makes, for the task, the calls that may
// block. So a request takes two hand-overs between goroutines, and two more for each
// such call; and the loop waits for none of net/http's locks.

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"runtime"
	"sync"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// An exchange is one request and its response. Any goroutine may use the fields that mu
// guards. mu is never held across a blocking call.
type exchange struct {
	handler *handler
	writer  http.ResponseWriter // net/http's
	request *http.Request       // net/http's
	own     *http.Request       // the handler's
	task    *rondo.Task         // touched on the loop only
	left    bool                // the client has ended its side; touched on the loop only
	revoked bool                // the task was cancelled while the handler ran; touched on the loop only
	calls   chan *call          // what the goroutine is to do; nil: the task has ended
	end     ending              // set before that nil
	opened  chan bool           // with a body that came late: whether the loop took the request
	others  sync.WaitGroup      // the other goroutines that use writer and request

	mu       sync.Mutex
	busy     bool  // the goroutine makes a call
	ahead    bool  // the body is read ahead of the handler
	over     bool  // the task has ended
	cut      error // of a write that a cancellation has ended: what follows would hide that
	served   bool  // and the goroutine is about to leave ServeHTTP
	lanes    [2]lane
	response response
	body     body
	out      writer
	context  requestContext
	taken    net.Conn      // the connection, if the handler has taken it over
	reader   *bufio.Reader // of that
	session  session       // as which it goes on; nil: it does not
}

// An ending is how a handler has ended, if not by returning.
type ending struct {
	panic   any
	goexit  bool
	refused bool // it was not started
}

// channels has channels for exchanges. A task leaves at most two things in one: a call
// that nobody waits for any more, and the end.
var channels = sync.Pool{New: func() any { return make(chan *call, 2) }}

func newExchange(a *handler, w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{handler: a, writer: w, request: r}
	if a.simulated {
		x.calls = channels.New().(chan *call) // a channel of a bubble of testing/synctest is for that bubble alone
	} else {
		x.calls = channels.Get().(chan *call)
	}
	x.response.length = -1
	x.body.source = r.Body
	return x
}

// open hands the request to the loop, and reports whether the loop takes it.
func (x *exchange) open() bool {
	if n := x.request.ContentLength; n > 0 && n <= aheadMax && x.request.Header.Get("Expect") == "" {
		return x.openWithBody()
	}
	return x.handler.post(x.start) == nil
}

// start is called on the loop, as a callback.
func (x *exchange) start() {
	a := x.handler
	if a.ctx.Err() != nil || kernel.Ended(a.ctx) {
		x.end.refused = true
		x.calls <- nil
		return
	}
	x.context = requestContext{a.ctx, x.request.Context(), x}
	x.task = rondo.Go(&x.context, x.run)
	a.loop.SetServing(x.task)
}

// run is the task.
func (x *exchange) run(ctx context.Context) error {
	x.end.goexit = true // unless it ends in another way
	defer x.leave()
	defer x.finish()
	x.own = x.request.WithContext(ctx)
	x.wrapBody()
	defer x.closeHeld()
	serve(x.handler.inner, x.newWriter(), x.own)
	x.converse(ctx)
	x.end.goexit = false
	return nil
}

// finish is called, deferred, when the handler ends. As with net/http, the handler's context is
// done before the answer ends.
func (x *exchange) finish() {
	if v := recover(); v != nil {
		x.end = ending{panic: passOn(v)}
	}
	x.mu.Lock()
	x.over = true
	// A body that is read ahead is awaited: net/http reads what a handler has left unread.
	read, write := x.lanes[reading].busy && !x.ahead, x.lanes[writing].busy
	x.mu.Unlock()
	// A task or goroutine that the handler has left behind must not keep the request.
	if read {
		x.interrupt(reading)
	}
	if write {
		x.interrupt(writing)
	}
	x.revoked = x.handler.loop.Task().Check() != nil
	x.task.Cancel(nil)
	x.calls <- nil
}

// leave ends the tasks that the handler has started. net/http has the answer by then, and
// perhaps the next request, so their errors can only be logged.
func (x *exchange) leave() {
	err := x.handler.loop.Task().Leave(nil)
	if err != nil && !(x.revoked && onlyCancelled(x.own.Context(), err)) {
		x.handler.complain(x.request, err)
	}
}

// serve is called on net/http's goroutine. It returns, or panics, as the handler did. If a call of
// the lanes ends by a Goexit, it serves the rest while that unwinds the goroutine.
func (x *exchange) serve() {
	over := false
	defer func() {
		if !over {
			x.serve()
		}
	}()
	gone := x.request.Context().Done()
	for !over {
		select {
		case c := <-x.calls:
			if over = c == nil; !over {
				x.make(c)
			}
		case <-gone:
			gone = nil
			x.cancel()
		}
	}
	x.mu.Lock()
	x.served = true
	x.mu.Unlock()
	x.others.Wait()
	if !x.handler.simulated {
		channels.Put(x.calls)
	}
	if x.end.refused {
		refuse(x.writer)
		return
	}
	x.close()
	switch {
	case x.end.panic != nil:
		panic(x.end.panic)
	case x.end.goexit:
		runtime.Goexit()
	case x.cut != nil && !x.response.hijacked:
		panic(http.ErrAbortHandler) // net/http would add the end of the answer
	}
}

// make makes a call on net/http's goroutine.
func (x *exchange) make(c *call) {
	defer func() { // also after a Goexit
		x.mu.Lock()
		x.busy = false
		x.mu.Unlock()
		c.returned()
	}()
	c.run()
}

// close hands what is left to net/http, which sends it.
func (x *exchange) close() {
	if x.own.MultipartForm != nil {
		x.request.MultipartForm = x.own.MultipartForm // net/http removes its files
	}
	if !x.response.hijacked {
		_ = x.response.emit(x.writer) // the client is gone
	}
	x.response.release()
	x.body.release()
}

// cancel cancels the task: the client is gone.
func (x *exchange) cancel() {
	cause := context.Cause(x.request.Context())
	_ = x.handler.loop.Post(func() {
		x.left = true
		if x.task != nil {
			x.task.Cancel(cause)
		}
	})
}

// inside returns the calling task, or nil if the caller is another goroutine.
func (x *exchange) inside() kernel.Task {
	if l := x.handler.loop; l.Inside() {
		if t := l.Task(); t != nil {
			return t
		}
		panic("rondo: a handler's request or response is used in a callback: callbacks must not wait; start a task with Go")
	}
	return nil
}
