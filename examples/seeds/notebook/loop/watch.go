package loop

import "slices"

// A watch is a descriptor that a task waits for.
type watch struct {
	fd    uintptr
	write bool // until it can be written; else until it can be read
	over  *Future[struct{}]
}

// WaitRead suspends the task until a read of the descriptor would not block.
func (l *Loop) WaitRead(fd uintptr) error { return l.wait(fd, false) }

// WaitWrite is WaitRead for writing.
func (l *Loop) WaitWrite(fd uintptr) error { return l.wait(fd, true) }

func (l *Loop) wait(fd uintptr, write bool) error {
	over := NewFuture[struct{}](l)
	l.watches = append(l.watches, watch{fd, write, over})
	// The watch ends with the wait, whatever ends that.
	defer func() {
		l.watches = slices.DeleteFunc(l.watches, func(w watch) bool { return w.over == over })
	}()
	_, err := over.Wait()
	return err
}
