package main

// This step shows a pool: so many workers, and connections that wait until one of
// them is free. No crowd of clients can exhaust the machine, but a few that do
// nothing keep all others out. The next step waits for all clients in one place.

import (
	"errors"
	"io"
	"net"
	"sync"
)

// workers is how many clients the pool serves at the same time: one less than
// there are.
const workers = 2

func pool(w io.Writer) error { return server(serveByPool).meet(w, workers) }

func serveByPool(connections int, listening func(address string)) error {
	l, err := listen(listening)
	if err != nil {
		return err
	}
	defer l.Close()
	accepted := make(chan net.Conn, connections)
	errs := make([]error, workers)
	var running sync.WaitGroup
	for i := range workers {
		running.Go(func() {
			for c := range accepted {
				errs[i] = errors.Join(errs[i], handle(c))
			}
		})
	}
	for range connections {
		var c net.Conn
		if c, err = l.Accept(); err != nil {
			break
		}
		accepted <- c
	}
	close(accepted)
	running.Wait()
	return errors.Join(append(errs, err)...)
}
