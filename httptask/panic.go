package httptask

import (
	"net/http"
	"runtime/debug"

	"github.com/rondo-go/rondo/internal/report"
)

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
