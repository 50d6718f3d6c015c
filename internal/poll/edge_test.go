//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package poll_test

import (
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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

// TestManyPeers echoes to many goroutines at once over one loop.
func TestManyPeers(t *testing.T) {
	watchdog(t)
	const peers, rounds = 40, 200
	w := openWatcher(t)
	var group sync.WaitGroup
	open := 0
	for id := range peers {
		a, b := pair(t)
		if err := unix.SetNonblock(b, false); err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			var buf [1]byte
			for i := range rounds {
				write(t, b, string(rune('a'+(id+i)%26)))
				if n, err := unix.Read(b, buf[:]); n != 1 || err != nil || buf[0] != byte('a'+(id+i)%26) {
					t.Errorf("read %d, %v, %q", n, err, buf)
				}
			}
			unix.Shutdown(b, unix.SHUT_WR)
		})
		open++
		s := new(sink)
		s.then = func() {
			var buf [8]byte
			for {
				n, err := unix.Read(a, buf[:])
				switch {
				case err == unix.EAGAIN:
					arm(t, w, a, driver.Readable, s)
					return
				case err != nil || n == 0:
					w.Disarm(uintptr(a), driver.Readable)
					open--
					return
				}
				write(t, a, string(buf[:n]))
			}
		}
		arm(t, w, a, driver.Readable, s)
	}
	for open > 0 {
		sleep(t, w)
	}
	group.Wait()
}
