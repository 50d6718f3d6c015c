// Package poll is the real driver of Rondo's loop: the machine's clock, news of
// file descriptors from its kernel, and a place to sleep.
//
// There is one backend a platform, each in a file of its own:
//
//	poll_epoll.go     Linux
//	poll_kqueue.go    macOS, FreeBSD, DragonFly
//	poll_portable.go  every other system, and any system with -tags rondo_portable
//
// A backend keeps the contract of package driver, which the tests here put to
// whichever of them Open gives. What that contract asks beyond the obvious is
// easy to lose, so it is said once, here:
//
//   - No wake-up is lost. A bell (bell.go) settles, with one atomic, whether a
//     Wake finds a sleeper to rouse or leaves word for the next Poll. A backend
//     goes to sleep only after bell.doze has said that nobody rang, and what it
//     does to be rousable it does between doze and a last look at the bell.
//   - No edge is lost. An event that comes at any moment around going to sleep
//     ends the sleep. One that was there before a sink took its direction over
//     is reported to that sink again.
//   - Nothing is held that has ended. A sink is forgotten when it is disarmed.
//   - A Poll that must not sleep and has no descriptors makes no system call.
//
// The portable backend knows no descriptors and does not implement
// driver.Poller. All others do.
package poll

import (
	"fmt"

	"github.com/rondo-go/rondo/internal/driver"
)

// Open makes a driver of the platform's own kind. Its caller closes it. It
// fails if the system gives no more file descriptors; the error wraps the
// system call's.
func Open() (driver.Driver, error) {
	d, err := open()
	if err != nil {
		return nil, fmt.Errorf("rondo: opening the poller: %w", err)
	}
	return d, nil
}
