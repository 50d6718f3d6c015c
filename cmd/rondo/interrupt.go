package main

// This file makes the first Ctrl-C a call on the loop, and leaves the second to
// the system.

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/rondo-go/rondo"
)

// onInterrupt runs fn as a callback of the loop at the first Ctrl-C or SIGTERM,
// with what to call it. From then on a signal ends the process, so that a
// program that does not end can be ended. stop, which must be called, undoes all
// that.
func onInterrupt(l *rondo.Loop, fn func(name string)) (stop func()) {
	signals := make(chan os.Signal, 1)
	quit, gone := make(chan struct{}), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer close(gone)
		select {
		case s := <-signals:
			signal.Stop(signals)
			name := "SIGTERM"
			if s == os.Interrupt {
				name = "Ctrl-C"
			}
			// A loop that has ended needs no interruption.
			_ = l.Post(func() { fn(name) })
		case <-quit:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(quit)
		<-gone
	}
}
