//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd

// Registrations of descriptors that belong to the program. The driver has one
// sink for each direction of a number, and the number may have one already. So
// a duplicate is registered, and closed afterwards.
//
// The law: on one loop, all who wait at the same time for the same direction of
// the same number share one registration, because Linux limits how many there
// may be for an open file. A number that was closed and used again is another
// file, and gets a registration of its own.

import (
	"math"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/list"
)

// registrations has the registration that a further user of a number shares.
// The lock is held for a few instructions and system calls that do not block.
var registrations = struct {
	mu sync.Mutex
	of map[place]*registration
}{of: make(map[place]*registration)}

// A place is where a registration is found.
type place struct {
	loop  kernel.Loop
	sys   uintptr
	which driver.Events
}

// A registration is the driver's sink for a duplicate. It has at least one user
// until it is closed.
type registration struct {
	place
	own   int // the duplicate
	users list.List[user]
}

// A user is one wait or one watch.
type user struct {
	links list.Links[user]
	of    *registration // nil: not registered
	sink  driver.Sink
}

const userLinks = unsafe.Offsetof(user{}.links)

// Ready is called by the driver. No user joins or leaves in the Ready of
// another one: those of waits and watches only note that they are due.
func (r *registration) Ready(ev driver.Events) {
	for u := range r.users.All(userLinks) {
		u.sink.Ready(ev)
	}
}

// join makes the driver report to u.sink when sys becomes ready. What was ready
// before is reported only to the first user, so a later one looks for itself.
// It is called on the loop.
func (u *user) join(loop kernel.Loop, which driver.Events, sys uintptr) error {
	if sys > math.MaxInt32 {
		return os.NewSyscallError("fcntl", unix.EBADF) // the kernel would cut the number
	}
	at := place{loop, sys, which}
	registrations.mu.Lock()
	defer registrations.mu.Unlock()
	r := registrations.of[at]
	if r == nil || !sameFile(r.own, int(sys)) {
		own, err := unix.FcntlInt(sys, unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		r = &registration{place: at, own: own}
		if err := loop.Driver().Poller().Arm(uintptr(own), which, r); err != nil {
			unix.Close(own)
			return err
		}
		registrations.of[at] = r
	}
	u.of = r
	r.users.Add(u, userLinks)
	return nil
}

// leave ends the reports. The last user closes the duplicate. Off the loop it is
// called only after the loop has ended, when the driver watches nothing.
func (u *user) leave(onLoop bool) {
	registrations.mu.Lock()
	defer registrations.mu.Unlock()
	r := u.of
	if r == nil {
		return
	}
	r.users.Remove(u, userLinks)
	if r.users.First() != nil {
		return
	}
	if registrations.of[r.place] == r {
		delete(registrations.of, r.place)
	}
	if onLoop {
		r.loop.Driver().Poller().Disarm(uintptr(r.own), r.which)
	}
	unix.Close(r.own)
}
