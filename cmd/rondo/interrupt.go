package main

// The first Ctrl-C is waited for, and the second is left to the system.

import (
	"context"
	"os"
	"syscall"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
)

// onInterrupt catches Ctrl-C and SIGTERM from now on. The function that it returns
// waits for the first of them, and returns what to call it. From then on a
// signal ends the process, so that a program that does not end can be ended.
func onInterrupt(ctx context.Context) (wait func() (name string, err error)) {
	caught := signals.Notify(ctx, os.Interrupt, syscall.SIGTERM)
	return func() (string, error) {
		for s := range caught {
			return signalName(s), nil
		}
		return "", rondo.Check(ctx)
	}
}

// signalName returns what to call a signal that ends the program.
func signalName(s os.Signal) string {
	if s == os.Interrupt {
		return "Ctrl-C"
	}
	return "SIGTERM"
}
