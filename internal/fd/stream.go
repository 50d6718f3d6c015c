package fd

import (
	"errors"
	"runtime"
)

// ShortIsAll says that a TCP read of a descriptor that returns less than was asked
// for has emptied the socket, unless the driver has reported HangUp or Urgent. The
// drivers of other systems do not report urgent data. A socket of the driver says
// itself what a short read proves.
const ShortIsAll = runtime.GOOS == "linux"

// Partial says that reads may end before the available data does, and whether
// each write is a packet: then an empty one is sent too. It is called before the
// FD is used.
func (f *FD) Partial(packets bool) { f.partial, f.packets = true, packets }

// Datagrams says that the socket is a datagram socket. retries is for an
// unconnected Unix socket: nothing reports that another's queue has room.
func (f *FD) Datagrams(retries bool) { f.partial, f.retries = true, retries }

// ErrAgain says that a Stream can do nothing at the moment. After Arm its sink
// is called when it can.
var ErrAgain = errors.New("rondo: try again")

var errBusy = errors.New("a task is reading or writing; let it end first")

// busy reports whether anyone holds one of the sides.
func (f *FD) busy() bool {
	return f.read.lock.state.Load() != free || f.write.lock.state.Load() != free
}
