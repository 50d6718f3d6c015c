// Package bare has sockets as the system gives them: numbers, on which no call
// ever blocks, and a Selector that says on which of them a call would have
// something to do.
//
// It is for Unix systems, whose poll(2) it calls. Elsewhere Listen fails, and so
// there is nothing to do for the others.
package bare

import (
	"errors"
	"time"
)

// ErrWouldBlock says that a call has nothing to do at the moment.
var ErrWouldBlock = errors.New("bare: would block")

// AtMost is the most that one Write takes, if it is not 0. A system may always take less
// than it is given; a test makes that happen.
var AtMost int

// A Selector watches descriptors. To each belongs a value that says what is to be
// done when it is ready. The zero value is ready.
type Selector[T any] struct {
	watched []watched[T]
}

type watched[T any] struct {
	fd    int
	write bool
	value T
}

// Read has the selector watch a descriptor that is to be read from, or that is to
// accept a connection.
func (s *Selector[T]) Read(fd int, value T) {
	s.watched = append(s.watched, watched[T]{fd, false, value})
}

// Write has the selector watch a descriptor that is to be written to.
func (s *Selector[T]) Write(fd int, value T) {
	s.watched = append(s.watched, watched[T]{fd, true, value})
}

// Len counts the descriptors that are watched.
func (s *Selector[T]) Len() int { return len(s.watched) }

// Select waits until a descriptor is ready, or several are, and returns their
// values. They are not watched any longer. It waits no longer than the timeout,
// for which a negative one stands for ever, if anything is watched at all.
func (s *Selector[T]) Select(timeout time.Duration) (ready []T, err error) {
	if len(s.watched) == 0 {
		time.Sleep(timeout)
		return nil, nil
	}
	is, err := poll(s.watched, timeout)
	if err != nil {
		return nil, err
	}
	rest := s.watched[:0]
	for i, w := range s.watched {
		if is[i] {
			ready = append(ready, w.value)
		} else {
			rest = append(rest, w)
		}
	}
	s.watched = rest
	return ready, nil
}
