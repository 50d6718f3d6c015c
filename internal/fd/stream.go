package fd

import (
	"errors"
	"runtime"
)

// ShortIsAll says that a TCP read that returns less than was asked for has
// emptied the socket, unless the driver has reported HangUp or Urgent. The
// drivers of other systems do not report urgent data.
const ShortIsAll = runtime.GOOS == "linux"

// Partial says that reads may end before the available data does, and whether
// each write is a packet: then an empty one is sent too. It is called before the
// FD is used.
func (f *FD) Partial(packets bool) { f.partial, f.packets = true, packets }

// ErrAgain says that a Stream can do nothing at the moment. After Arm its sink
// is called when it can.
var ErrAgain = errors.New("rondo: try again")

var errBusy = errors.New("a task is reading or writing; let it end first")

// busy reports whether anyone holds one of the sides.
func (f *FD) busy() bool {
	return f.read.lock.state.Load() != free || f.write.lock.state.Load() != free
}
