package fd

// The operations of tasks, when they are called by a goroutine that is no task of the
// loop. They are functions of their own because their frames would otherwise be on the
// stack of every task.

import "github.com/rondo-go/rondo/internal/driver"

// writeForeign is Write of a goroutine that is no task of the loop. It is a function of
// its own so that the frame of Write stays small.
func (f *FD) writeForeign(p []byte) (n int, err error) {
	if f.visited() {
		if n, done, err := f.writeVisit(p); done {
			return n, err
		}
	}
	if err := f.write.Take(nil); err != nil {
		return 0, err
	}
	defer f.write.Release()
	err = f.Foreign(driver.Writable, func(std Std) error {
		m, err := std.Write(p[n:])
		n += m
		return err
	})
	return n, err
}
