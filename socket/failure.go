package socket

// What becomes of a failure of a function of the program's: it is reported once, and a report
// that panics hurts nobody.

import (
	"errors"
	"log/slog"
	"net"
	"runtime/debug"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/report"
)

// contain is deferred where an OnError, named so, is called with err. It gives a panic to the
// Runner's OnError, with err.
func contain(loop kernel.Loop, name string, err error) {
	if loop.Recovers() {
		if p := recover(); p != nil {
			loop.Notice(name, errors.Join(panicError(name, p), err))
		}
	}
}

// logError logs an error of serving a peer, or of Accept if that is nil.
func logError(peer net.Addr, err error) {
	if peer == nil {
		report.Log(slog.LevelError, report.Text(err))
		return
	}
	report.Log(slog.LevelError, "rondo: serving a connection", "peer", report.Text(peer), "err", err)
}

// panicError returns the error of a connection for a panic with value v. Its caller is a
// deferred call that has recovered it.
func panicError(name string, v any) error {
	if e, ok := v.(*rondo.PanicError); ok && e != nil {
		return e
	}
	return &rondo.PanicError{Task: name, Value: v, Stack: debug.Stack()}
}

func isPanic(err error) bool { _, is := err.(*rondo.PanicError); return is }

// hasPanic reports whether err has a panic in it. If a method of err panics it has none.
func hasPanic(err error) (has bool) {
	defer func() {
		if recover() != nil {
			has = false
		}
	}()
	return errtree.Any(err, isPanic)
}
