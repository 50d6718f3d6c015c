package httptask

// A Handler takes requests from the goroutines of net/http, and refuses some of
// them.

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/report"
)

// Handler returns an http.Handler that runs h in tasks, one for each request. ctx
// names the loop, and the scope that owns the tasks: the Group, Timeout, Deadline or
// Shield that encloses the caller most closely, or else the loop's root scope. Use it
// with any http.Server, also with several.
//
// In h, the context of the request is the task's ctx: pass it to whatever suspends.
// It has the values of the request's own context, and it is cancelled when the client
// goes away and when the scope is. Body and ResponseWriter suspend the task where they
// would block. A panic in h is passed on to net/http, which logs it and closes the
// connection; the loop goes on, whatever the Runner says.
//
// The context of the request also owns the tasks that h starts with it. When h has returned,
// the context is cancelled, the answer is sent, and those tasks are waited for. If such a task
// fails or panics and nobody waits for it, the context is cancelled while h runs, and the error
// goes to the ErrorLog of the http.Server; other requests go on. Start a task that is to
// outlive the request in a scope of your own.
//
// When the scope has been cancelled, or the loop has ended, requests are answered with status
// 503 and a short text. The loop's scope waits for handlers that run, as for all its tasks.
//
// Handler called by a task of the same loop runs h in that task.
//
// Any goroutine may call Handler. It panics if ctx belongs to no loop, or h is nil.
func Handler(ctx context.Context, h http.Handler) http.Handler {
	loop := loopOf(ctx, "Handler")
	if f, ok := h.(http.HandlerFunc); h == nil || ok && f == nil {
		panic("rondo: httptask.Handler with a nil handler")
	}
	return newHandler(ctx, loop, h)
}

// loopOf returns the loop of ctx, which the named function was called with.
func loopOf(ctx context.Context, call string) kernel.Loop {
	if ctx == nil {
		panic("rondo: httptask." + call + " with a nil context")
	}
	loop := kernel.Of(ctx)
	if loop == nil {
		panic("rondo: httptask." + call + ": this ctx belongs to no running loop; pass the ctx of a task")
	}
	return loop
}

// errCluster is the error of a server, or of a client, on a host of a simulated cluster:
// its goroutines would use the network of the machine.
var errCluster = errors.New("httptask: the goroutines of net/http are no part of a sim.Cluster: " +
	"a Server serves what socket.Listen returns, and a client needs sim.Config.Goroutines")

// errMachine is the error of a client on such a host whose goroutines may run.
var errMachine = errors.New("httptask: on a host of a sim.Cluster this client would use the network of the machine: " +
	"give its http.Transport a DialContext that calls socket.Dial with the ctx of the host")

// inCluster reports whether the loop is that of such a host.
func inCluster(loop kernel.Loop) bool { return driver.HostOf(loop.Driver()) != nil }

// A handler starts a task for each request.
type handler struct {
	ctx       context.Context
	loop      kernel.Loop
	simulated bool
	post      func(func()) error // refuses once the last task has ended
	inner     http.Handler
}

// newHandler makes a handler. From the call of LoopOf on, a request may wake the loop, so
// it is in no deadlock.
func newHandler(ctx context.Context, loop kernel.Loop, h http.Handler) *handler {
	return &handler{ctx: ctx, loop: loop, simulated: loop.Driver().Simulation() != nil, post: rondo.LoopOf(ctx).Post, inner: h}
}

// ServeHTTP is called by net/http, on a goroutine for each request.
func (a *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.loop.Inside() {
		a.serveInTask(w, r)
		return
	}
	if a.ctx.Err() != nil {
		refuse(w)
		return
	}
	x := newExchange(a, w, r)
	if !x.open() {
		refuse(w)
		return
	}
	x.serve()
}

// serveInTask runs the handler in the calling task.
func (a *handler) serveInTask(w http.ResponseWriter, r *http.Request) {
	t := a.loop.Task()
	if t == nil {
		panic("rondo: a httptask.Handler in a callback: callbacks must not wait; start a task with Go")
	}
	var thrown any
	err := rondo.Contain(t.Scope(), func(ctx context.Context) error {
		defer func() {
			if v := recover(); v != nil {
				thrown = passOn(v) // to the caller, as in net/http
			}
		}()
		serve(a.inner, w, r.WithContext(&requestContext{Context: ctx, request: r.Context()}))
		return nil
	})
	if err != nil && !onlyCancelled(t.Scope(), err) {
		a.complain(r, err)
	}
	if thrown != nil {
		panic(thrown)
	}
}

// complain logs the error of a task that the handler of r has started, where net/http logs
// the panics of handlers. A panic of the log goes to the Runner's OnError.
func (a *handler) complain(r *http.Request, err error) {
	if onlyAborts(err) {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			a.loop.Notice("ErrorLog of a http.Server", errors.Join(errors.New("rondo: httptask: panic in ErrorLog: "+report.Text(v)), err))
		}
	}()
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.ErrorLog != nil {
		s.ErrorLog.Printf("rondo: a task that a handler has started: %+v", err)
		return
	}
	report.Log(slog.LevelError, "rondo: a task that a handler has started failed", "err", err)
}

// onlyAborts reports whether err is only panics with http.ErrAbortHandler, which net/http does
// not log.
func onlyAborts(err error) bool {
	return errtree.Only(err, func(err error) bool { return errtree.Same(err, http.ErrAbortHandler) }, nil)
}

// onlyCancelled reports whether err says only that ctx, in which a handler runs, is cancelled,
// or that a connection was closed because of that. ctx may be the program's: a panic of it says no.
func onlyCancelled(ctx context.Context, err error) bool {
	return errtree.Only(err, func(err error) bool {
		return ctx.Err() != nil &&
			(errtree.Same(err, context.Cause(ctx)) || errtree.Same(err, net.ErrClosed) || errtree.Same(err, os.ErrDeadlineExceeded))
	}, isPanic)
}

func isPanic(err error) bool { _, panicked := err.(*rondo.PanicError); return panicked }

// refuse answers a request for which there will be no task.
func refuse(w http.ResponseWriter) {
	http.Error(w, "The loop that serves this address is ending, or has ended.", http.StatusServiceUnavailable)
}
