//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package poll_test

import (
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
)

// Edges that come at any moment around going to sleep.

// TestNoEdgeIsLost is an echo in which every byte depends on the one before it.
//
// Method: the writer waits a short time, a different one each round, so that
// its byte comes before, during and after every step of going to sleep. In some
// rounds the loop polls for a while without sleeping, so that the backend
// becomes busy and has to enable A again.
func TestNoEdgeIsLost(t *testing.T) {
	watchdog(t)
	const rounds = 20_000
	w := openWatcher(t)
	a, b := pair(t)
	var writer sync.WaitGroup
	begin := make(chan struct{}, 1)
	writer.Go(func() {
		p := pause{seed: 3}
		for range rounds {
			<-begin
			p.spin()
			write(t, b, "x")
			if p.seed>>12%8 == 0 {
				w.Wake() // sometimes right after a Wake
			}
		}
	})
	s := new(sink)
	p := pause{seed: 4}
	for round := range rounds {
		if n := drain(t, a); n != 0 {
			t.Fatalf("read %d unexpected bytes", n)
		}
		arm(t, w, a, driver.Readable, s)
		begin <- struct{}{}
		p.spin()
		for range round % 12 {
			glance(t, w)
		}
		for s.told&driver.Readable == 0 {
			until := driver.Forever
			if round%3 == 0 {
				until = w.Now() + int64(time.Hour) + int64(round)
			}
			if err := w.Poll(until); err != nil {
				t.Fatal(err)
			}
		}
		s.take()
		if n := drain(t, a); n != 1 {
			t.Fatalf("read %d bytes of one", n)
		}
	}
	writer.Wait()
	w.Disarm(uintptr(a), driver.Readable)
}
