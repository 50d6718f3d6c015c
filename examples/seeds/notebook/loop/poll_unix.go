//go:build unix && !aix && !solaris

package loop

import (
	"time"

	"golang.org/x/sys/unix"
)

// poll sleeps in poll(2) until a watched descriptor is ready or the first timer
// is due, and makes the tasks that wait for what is ready runnable.
func (l *Loop) poll() error {
	timeout := -1
	if len(l.timers) > 0 {
		left := max(0, l.timers[0].when.Sub(l.Time()))
		timeout = int((left + time.Millisecond - 1) / time.Millisecond)
	}
	list := make([]unix.PollFd, len(l.watches))
	for i, w := range l.watches {
		list[i] = unix.PollFd{Fd: int32(w.fd), Events: unix.POLLIN}
		if w.write {
			list[i].Events = unix.POLLOUT
		}
	}
	if _, err := unix.Poll(list, timeout); err != nil && err != unix.EINTR {
		return err
	}
	watches := l.watches
	l.watches = nil
	for i, w := range watches {
		if list[i].Revents != 0 {
			w.over.Set(struct{}{})
		} else {
			l.watches = append(l.watches, w)
		}
	}
	return nil
}
