//go:build unix

package trap

import (
	"bytes"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// send sends this process a signal.
func send(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(syscall.Getpid(), s); err != nil {
		t.Fatal(err)
	}
}

// holder is a catcher that keeps what it gets.
type holder chan *Delivery

func newHolder() holder { return make(holder, 10) }

func (h holder) take(d *Delivery) bool { h <- d; return true }

// TestEachGetsOne: every trap gets one copy of a signal.
func TestEachGetsOne(t *testing.T) {
	var all []holder
	for i := range 3 {
		h := newHolder()
		tr := Hold(i == 0, h.take, syscall.SIGUSR1)
		defer tr.Release()
		all = append(all, h)
	}
	for round := range 2 {
		send(t, syscall.SIGUSR1)
		for i, h := range all {
			if i == 0 && round > 0 {
				continue // it was set for one
			}
			(<-h).Use()
		}
	}
	for i, h := range all {
		if len(h) != 0 {
			t.Error("trap", i, "has", len(h), "signals more")
		}
	}
}

// TestReturned: a signal that all return and nobody uses goes to a trap that was
// set in the meantime. One that somebody has used goes nowhere.
func TestReturned(t *testing.T) {
	for _, used := range []bool{false, true} {
		a, b, later := newHolder(), newHolder(), newHolder()
		first, second := Hold(false, a.take, syscall.SIGUSR1), Hold(false, b.take, syscall.SIGUSR1)
		send(t, syscall.SIGUSR1)
		d := <-a
		if d != <-b {
			t.Fatal("two traps got different deliveries")
		}
		third := Hold(false, later.take, syscall.SIGUSR1)
		first.Release()
		second.Release()
		d.Return()
		if len(later) != 0 {
			t.Error("a signal was raised that a trap still holds")
		}
		if used {
			d.Use()
		} else {
			d.Return()
		}
		if got := len(later); got != 1 && !used || got != 0 && used {
			t.Errorf("used %t: the trap that was set later got %d signals", used, got)
		}
		third.Release()
	}
}

// TestRefused: a trap whose take reports false is released, and the others keep the
// signal.
func TestRefused(t *testing.T) {
	h := newHolder()
	calls := 0
	defer Set(false, func(os.Signal) bool { calls++; return false }, syscall.SIGUSR1).Release()
	defer Hold(false, h.take, syscall.SIGUSR1).Release()
	for range 3 {
		send(t, syscall.SIGUSR1)
		(<-h).Use()
	}
	if calls != 1 {
		t.Error("a trap that refused a signal got", calls)
	}
}

// TestChannelHearsOnce: a channel of os/signal gets one copy of a signal that a trap
// drops.
func TestChannelHearsOnce(t *testing.T) {
	c := make(chan os.Signal, 10)
	signal.Notify(c, syscall.SIGUSR1)
	defer signal.Stop(c)
	h := newHolder()
	tr := Hold(false, h.take, syscall.SIGUSR1)
	send(t, syscall.SIGUSR1)
	<-c
	d := <-h
	tr.Release()
	d.Use()
	// The system delivers this one after a copy that was raised again.
	fence := make(chan os.Signal, 1)
	signal.Notify(fence, syscall.SIGUSR2)
	defer signal.Stop(fence)
	send(t, syscall.SIGUSR2)
	<-fence
	if n := len(c); n != 0 {
		t.Error("the channel heard one signal", 1+n, "times")
	}
}

// TestReleaseTwice: a trap may be released more than once, and may name a signal
// twice.
func TestReleaseTwice(t *testing.T) {
	h := newHolder()
	tr := Hold(false, h.take, syscall.SIGUSR1, syscall.SIGUSR1)
	tr.Release()
	tr.Release()
	if len(sources) != 0 {
		t.Error("left:", sources)
	}
}

// TestOnItsWay: a signal that is on its way to a trap that ends acts after Release as if the
// trap had not been there, and is dropped by Drop.
func TestOnItsWay(t *testing.T) {
	for name, test := range map[string]struct {
		end    func(tr *Trap)
		raised int
	}{"Release": {(*Trap).Release, 1}, "Drop": {(*Trap).Drop, 0}} {
		heard, fence := make(chan os.Signal, 10), make(chan os.Signal, 1)
		signal.Notify(heard, syscall.SIGUSR1)
		signal.Notify(fence, syscall.SIGUSR2)
		has, goOn := make(chan bool), make(chan bool)
		tr := Hold(false, func(d *Delivery) bool {
			has <- true
			<-goOn
			d.Use()
			return true
		}, syscall.SIGUSR1)
		send(t, syscall.SIGUSR1)
		<-has
		send(t, syscall.SIGUSR1)
		for range 2 {
			<-heard // signal.Stop waits until the trap has its copy
		}
		test.end(tr)
		close(goOn)
		for stacks := make([]byte, 1<<20); bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("(*source).run")); {
			runtime.Gosched()
		}
		for range test.raised {
			select {
			case <-heard:
			case <-time.After(10 * time.Second):
				t.Fatalf("%s: the second signal was not raised again", name)
			}
		}
		send(t, syscall.SIGUSR2)
		<-fence
		if n := len(heard); n != 0 {
			t.Errorf("%s: the second signal was raised %d times too often", name, n)
		}
		signal.Stop(heard)
		signal.Stop(fence)
	}
}
