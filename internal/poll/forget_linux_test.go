//go:build linux && !rondo_portable

package poll_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
)

// TestForget: after Forget and close, events of a duplicate reach neither the
// old sink nor the next owner of the number.
func TestForget(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	old, peer := pair(t)
	a, err := unix.Dup(old) // the descriptor under test; old keeps the file open
	if err != nil {
		t.Fatal(err)
	}
	dead, next := new(sink), new(sink)
	arm(t, w, a, driver.Readable|driver.Writable, dead)
	expect(t, w, dead, driver.Writable)
	dead.take()
	c, d := pair(t)
	w.Forget(uintptr(a))
	unix.Close(a)
	if err := unix.Dup3(c, a, unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(a)
	arm(t, w, a, driver.Readable, next)
	write(t, peer, "x")
	silent(t, w, next)
	if dead.calls != 0 {
		t.Error("the sink of a forgotten descriptor was called")
	}
	write(t, d, "x")
	expect(t, w, next, driver.Readable)
	w.Disarm(uintptr(a), driver.Readable)
}
