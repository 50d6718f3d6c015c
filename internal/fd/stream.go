package fd

import "errors"

// ErrAgain says that a Stream can do nothing at the moment; its sink hears of
// the time when it can, if that is expected.
var ErrAgain = errors.New("rondo: try again")

var errBusy = errors.New("a task is reading or writing; let it end first")

// busy tells whether anybody has one of the sides.
func (f *FD) busy() bool {
	return f.read.lock.state.Load() != free || f.write.lock.state.Load() != free
}
