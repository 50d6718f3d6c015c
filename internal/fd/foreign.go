package fd

// This file has what the operations of tasks do for a goroutine that is no task of the
// loop, in functions of their own: their frames would be on the stack of every task.

import "github.com/rondo-go/rondo/internal/driver"

// writeForeign is Write of a goroutine that is no task of the loop. It is a function of
// its own so that the frame of Write stays small.
func (f *FD) writeForeign(p []byte) (n int, err error) {
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
