// Package poll is the real driver of Rondo's loop: the machine's clock, events
// of file descriptors from its kernel, and a place to sleep.
//
// There is one backend a platform, each in a file of its own:
//
//	poll_epoll.go     Linux
//	poll_kqueue.go    macOS, FreeBSD, DragonFly
//	poll_portable.go  every other system, and any system with -tags rondo_portable
//
// A backend keeps the contract of package driver. The tests here check it for
// the backend that Open returns. The parts of the contract that are easy to
// break:
//
//   - No wake-up is lost. A wakeFlag (wake.go) decides with one atomic whether a
//     Wake finds a sleeper, or leaves a signal for the next Poll. A backend goes
//     to sleep only after wakeFlag.sleepBegin has returned true. What it does to
//     become wakeable, it does between sleepBegin and a last look at the flag.
//   - No edge is lost. An event that comes at any moment around going to sleep
//     ends the sleep. An event that was there before a sink took its direction
//     over is reported to that sink again.
//   - Nothing that has ended is kept. A sink is forgotten when it is disarmed.
//   - A Poll that must not sleep and has no descriptors makes no system call.
//
// The portable backend has no descriptors, so its Poller is nil. Those of the others are
// the drivers themselves.
package poll

import (
	"fmt"

	"github.com/rondo-go/rondo/internal/driver"
)

// Open opens the platform's driver. Its caller closes it. It fails if the
// process can have no more file descriptors; the error wraps the system call's.
func Open() (driver.Driver, error) {
	d, err := open()
	if err != nil {
		return nil, fmt.Errorf("rondo: opening the poller: %w", err)
	}
	return d, nil
}
