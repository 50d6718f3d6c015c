package httptask

// Handlers that block run on a goroutine, and their task waits for it.

import (
	"context"
	"net/http"
	"reflect"
	"runtime"
	"strings"

	"github.com/rondo-go/rondo"
)

// Blocking returns a handler that runs h on a goroutine, as net/http does, and suspends the
// task until h has returned. Use it for handlers that block. h must not touch what tasks share,
// and cannot wait with r.Context(), which is cancelled as for any handler. A cancellation does
// not end the wait, so h should watch r.Context(). At most Runner.Threads handlers and
// offloaded functions run at once. If the caller is not a task, h runs on the caller's
// goroutine.
//
// The handlers of net/http/pprof need no Blocking if they are in an http.ServeMux that is the
// Handler of a Server, or is given to Handler: these run them on a goroutine anyway.
//
//	mux.Handle("/files/", httptask.Blocking(http.FileServer(http.Dir("public"))))
func Blocking(h http.Handler) http.Handler {
	if h == nil {
		panic("rondo: httptask.Blocking with a nil handler")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { onGoroutine(h, w, r) })
}

// onGoroutine runs h on a goroutine for the task that calls it. It returns, or panics, as h did.
func onGoroutine(h http.Handler, w http.ResponseWriter, r *http.Request) {
	if rondo.Current(r.Context()) == nil {
		h.ServeHTTP(w, r)
		return
	}
	var thrown any = http.ErrAbortHandler // if h calls Goexit
	// Shielded, because w is h's until it has returned.
	_ = rondo.Shield(r.Context(), func(ctx context.Context) error {
		return rondo.OffloadFunc(ctx, func(context.Context) error {
			defer func() {
				if v := recover(); v != nil {
					thrown = passOn(v)
				}
			}()
			h.ServeHTTP(w, r)
			thrown = nil
			return nil
		})
	})
	if thrown != nil {
		panic(thrown)
	}
}

// serve has h answer a request, on the loop; a handler of net/http/pprof, which blocks for as long
// as it measures, on a goroutine.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/debug/pprof/") && measures(h, r) {
		onGoroutine(h, w, r)
		return
	}
	h.ServeHTTP(w, r)
}

// measures reports whether h is an http.ServeMux that has a handler of net/http/pprof answer r.
func measures(h http.Handler, r *http.Request) bool {
	for mux, ok := h.(*http.ServeMux); ok; mux, ok = h.(*http.ServeMux) {
		h, _ = mux.Handler(r)
	}
	const profiler = "net/http/pprof"
	if f, ok := h.(http.HandlerFunc); ok {
		return strings.HasPrefix(runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name(), profiler+".")
	}
	return reflect.TypeOf(h).PkgPath() == profiler
}
