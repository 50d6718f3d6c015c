package main

// This step shows a goroutine for each connection. The system, or here Go's
// runtime, suspends and resumes what waits, so that the code is the one of a
// single connection. Any number of clients makes any number of goroutines; the
// next step has a limit.

import (
	"errors"
	"io"
	"sync"
)

func goroutines(w io.Writer) error { return server(serveByGoroutines).meet(w, 3) }

func serveByGoroutines(connections int, listening func(address string)) error {
	l, err := listen(listening)
	if err != nil {
		return err
	}
	defer l.Close()
	var running sync.WaitGroup
	var mutex sync.Mutex // they run at the same time, and share the errors
	var errs error
	for range connections {
		c, err := l.Accept()
		if err != nil {
			running.Wait()
			return err
		}
		running.Go(func() {
			if err := handle(c); err != nil {
				mutex.Lock()
				defer mutex.Unlock()
				errs = errors.Join(errs, err)
			}
		})
	}
	running.Wait()
	return errs
}
