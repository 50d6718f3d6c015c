package fd

import (
	"errors"
	"runtime"
)

// ShortIsAll tells whether a read of TCP that gives less than was asked for has
// emptied the socket, unless the driver has said HangUp or Urgent. Other systems'
// drivers do not report urgent data.
const ShortIsAll = runtime.GOOS == "linux"

// Pieces tells that reads may end before the data that has come does. It is
// called before the FD is used.
func (f *FD) Pieces() { f.pieces = true }

// ErrAgain says that a Stream can do nothing at the moment; its sink hears of
// the time when it can, if that is expected.
var ErrAgain = errors.New("rondo: try again")

var errBusy = errors.New("a task is reading or writing; let it end first")

// busy tells whether anybody has one of the sides.
func (f *FD) busy() bool {
	return f.read.lock.state.Load() != free || f.write.lock.state.Load() != free
}
