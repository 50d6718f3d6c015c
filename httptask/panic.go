package httptask

import (
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/report"
)

// contain calls fn, which calls methods of values of the program, on a goroutine of Rondo's. A
// panic there would end the program: it is an error instead, a *rondo.PanicError of what name says.
func contain(name string, fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &rondo.PanicError{Task: name, Value: v, Stack: debug.Stack()}
		}
	}()
	return fn()
}

// notice passes a panic that contain has returned, and that nobody waits for, to the Runner's
// OnError, or to the log if the loop has ended. Other errors are dropped. Any goroutine may call
// it.
func notice(loop kernel.Loop, err error) {
	p, ok := err.(*rondo.PanicError)
	if !ok {
		return
	}
	if loop == nil || loop.Post(func() { loop.Notice(p.Task, p) }) != nil {
		report.Log(slog.LevelError, "rondo: a panic after the end of the loop", "err", p)
	}
}

// A handlerPanic is what net/http's goroutine panics with for a handler that panicked.
// net/http logs it: the value, and the stack of the handler's task. Behind it stands
// the stack of net/http's goroutine.
type handlerPanic struct {
	value any
	stack []byte
}

// passOn returns the value with which net/http's goroutine is to panic for a handler
// that panicked with v. It is called, deferred, by the handler's task.
func passOn(v any) any {
	if v == http.ErrAbortHandler {
		return v
	}
	return &handlerPanic{v, debug.Stack()}
}

// Error returns the value and the stack.
func (p *handlerPanic) Error() string { return report.Text(p.value) + "\n\n" + string(p.stack) }

// Unwrap returns the value if it is an error.
func (p *handlerPanic) Unwrap() error {
	err, _ := p.value.(error)
	return err
}
