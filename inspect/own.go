package inspect

// The calling program. Where a program may read the memory of
// processes, it reads its own as if it were another's, and its loops take no part.
// Elsewhere it asks the loops: a function posted to each loop reads the records
// there, where nothing changes meanwhile. The stacks come from the text that the
// runtime writes. A loop that does not answer is held, so its records do not change
// either, and they are read from the calling goroutine.

import (
	"encoding/binary"
	"errors"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/kernel"
)

// self is the calling program, opened once: its tables never change.
var self struct {
	sync.Mutex
	target *Target
	closed bool // its memory cannot be read like another's
}

// Snapshot takes a snapshot of the calling program with all stacks. Any goroutine
// may call it, a task too; it never suspends.
//
// On Linux, on amd64 and arm64, it asks nothing of the loops and takes some
// milliseconds, so it works when one hangs. On other systems, and where the
// program may not read its own memory, each loop takes its part of the snapshot in
// its next turn; the caller blocks until then, and the program stops while its
// stacks are read. A loop that has not answered within a second counts as held.
// It fails if the processor is not a 64-bit little-endian one.
func Snapshot() (*Program, error) { return snapshot(Options{Stacks: true}) }

func snapshot(o Options) (*Program, error) {
	if p, err, ok := readSelf(o); ok {
		return p, err
	}
	p, err := ask(answerTime)
	if err == nil && o.Goroutines {
		p.askGoroutines()
	}
	return p, err
}

// readSelf takes the snapshot of the calling program as if it were another. It
// reports whether that can be done: it cannot if this package does not know the
// release of Go, which asking does not need.
func readSelf(o Options) (*Program, error, bool) {
	target := openSelf()
	if target == nil {
		return nil, nil, false
	}
	defer self.Unlock()
	p, err := target.Snapshot(o)
	if err == nil && target.program.Missing() != "" {
		self.target, self.closed = nil, true
		return nil, nil, false
	}
	return p, err, true
}

// openSelf returns the calling program opened like another, and locked; nil if
// that cannot be done.
func openSelf() *Target {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return nil
	}
	self.Lock()
	if self.target == nil && !self.closed {
		m, err := goinspect.OpenSelf()
		if err == nil {
			self.target, err = open(m, os.Getpid(), "this program")
		}
		self.closed = err != nil
	}
	if self.target == nil {
		self.Unlock()
	}
	return self.target
}

// answerTime is how long a loop has to answer.
const answerTime = time.Second

// ask takes the snapshot of the calling program by asking its loops, each of which
// has so long to answer.
func ask(wait time.Duration) (*Program, error) {
	if unsafe.Sizeof(uintptr(0)) != 8 || binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, errors.New("this program cannot be read: its processor is not a 64-bit little-endian one")
	}
	p := &Program{PID: os.Getpid(), Go: runtime.Version(), Taken: time.Now(), Loops: []*Loop{}}
	loops := kernel.Loops()
	answers := make([]chan *Loop, len(loops))
	var late atomic.Bool
	for i, l := range loops {
		answer := make(chan *Loop, 1)
		answers[i] = answer
		if l.Inside() {
			answer <- read(l, 0)
			continue
		}
		err := l.Post(func() {
			if !late.Load() {
				answer <- read(l, 0)
			}
		})
		if err != nil {
			answer <- nil // It has ended.
		}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for i, l := range loops {
		var part *Loop
		select {
		case part = <-answers[i]:
		case <-timer.C:
			late.Store(true)
			timer.Reset(0)
			select {
			case part = <-answers[i]: // It answered while another was waited for.
			default:
				part = readHeld(l, wait)
			}
		}
		if part != nil {
			p.Loops = append(p.Loops, part)
		}
	}
	p.sortLoops()
	return p, nil
}

// read reads a loop of the calling program; nil if it has ended. It runs on the
// loop, or while that is held.
func read(l kernel.Loop, late time.Duration) *Loop {
	table := kernel.Table
	known := &offsets{version: table.Version, marker: uint64(reflect.ValueOf(table.Marker).Pointer())}
	for i, at := range table.Offsets {
		known.offsets[i] = int(at)
	}
	r := reader{
		program: &calling{}, layout: known, at: uint64(reflect.ValueOf(l).Pointer()), inside: true, late: late, portion: portion,
		options: Options{Stacks: true}, budget: new(budget),
	}
	out, ok := r.once()
	if !ok {
		return nil
	}
	return out
}

// readHeld reads a loop that has not answered. If it goes on meanwhile, what is
// read may be of several moments. The memory stays readable, because the runtime
// never unmaps its heap.
func readHeld(l kernel.Loop, late time.Duration) (out *Loop) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			out = nil
		}
	}()
	return read(l, late)
}

// calling is the calling program. It is for one snapshot.
type calling struct {
	stacks map[uint64]goinspect.Stack
}

func (c *calling) Memory() goinspect.Memory { return near{} }

func (c *calling) Func(pc uint64) goinspect.Frame {
	f := runtime.FuncForPC(uintptr(pc))
	if f == nil {
		return goinspect.Frame{}
	}
	return goinspect.Frame{Func: f.Name()}
}

func (c *calling) Call(pc uint64) (out []goinspect.Frame) {
	for frames := runtime.CallersFrames([]uintptr{uintptr(pc)}); ; {
		f, more := frames.Next()
		if f.PC != 0 {
			out = append(out, goinspect.Frame{Func: f.Function, File: f.File, Line: f.Line, Inlined: f.Func == nil})
		}
		if !more {
			return out
		}
	}
}

// TypeName makes an interface value of the type, which has no value.
func (c *calling) TypeName(addr uint64) string {
	value := [2]uintptr{uintptr(addr), 0}
	return reflect.TypeOf(*(*any)(unsafe.Pointer(&value))).String()
}

// Stacks returns the stacks of the given goroutines, by their numbers.
func (c *calling) Stacks(gs []goinspect.Goroutine) []goinspect.Stack {
	if c.stacks == nil {
		c.stacks = stacksOfAll()
	}
	out := make([]goinspect.Stack, len(gs))
	for i, g := range gs {
		out[i] = c.stacks[g.ID]
	}
	return out
}

// Resumers returns nil: the text of a stack does not say who has resumed a
// coroutine.
func (c *calling) Resumers([]goinspect.Goroutine) []uint64 { return nil }

// Resumed finds nothing, as Resumers does.
func (c *calling) Resumed([]goinspect.Goroutine) (map[uint64]goinspect.Goroutine, bool) {
	return nil, false
}

// Missing returns "": the calling program knows its own runtime.
func (c *calling) Missing() string { return "" }

// near is the calling program's own memory. Only what is known to be there may be
// read.
type near struct{}

// leastAddress is the lowest address that a program has; a smaller one is not a
// pointer.
const leastAddress = 4096

var errNoMemory = errors.New("no memory there")

// Read copies without the race detector and the checks of pointers: the records
// belong to one goroutine, which is this one or stands still.
//
//go:norace
//go:nocheckptr
func (near) Read(addr uint64, b []byte) error {
	if addr < leastAddress || len(b) == 0 {
		return errNoMemory
	}
	copy(b, unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), len(b)))
	return nil
}

func (n near) ReadMany(requests []goinspect.Request) {
	for i := range requests {
		requests[i].OK = n.Read(requests[i].Addr, requests[i].Data) == nil
	}
}

func (near) Regions() []goinspect.Region { return nil }

func (near) Close() error { return nil }
