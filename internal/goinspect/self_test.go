//go:build linux && (amd64 || arm64)

package goinspect

import (
	"bytes"
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/gid"
)

// self opens the test program itself.
func self(t testing.TB) *Program {
	t.Helper()
	m, err := OpenSelf()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	p, err := Open(m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// described returns a stack the way runtime.Stack prints one: a function and where
// it stands, for each call.
func described(frames []Frame) []string {
	var out []string
	for _, f := range frames {
		out = append(out, fmt.Sprintf("%s %s:%d", f.Func, f.File, f.Line))
	}
	return out
}

// printed parses the calls out of the text of a stack by runtime.Stack.
func printed(text string) []string {
	var out []string
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		if strings.HasPrefix(lines[i], "created by ") {
			break
		}
		name := lines[i]
		if j := strings.LastIndex(name, "("); j > 0 {
			name = name[:j]
		}
		at := strings.TrimSpace(lines[i+1])
		at, _, _ = strings.Cut(at, " ")
		out = append(out, name+" "+at)
	}
	return out
}

//go:noinline
func outer(n int, f func()) {
	if n == 0 {
		inner(f)
		return
	}
	outer(n-1, f)
}

func inner(f func()) { f() } // small enough to be inlined

// parked starts a goroutine or a coroutine that suspends in f at a depth, and
// returns the address of its record and its number.
type parked struct {
	record uintptr
	id     uint64
	end    func()
}

func parkInChannel(depth int) parked {
	p, quit, ready := parked{}, make(chan bool), make(chan bool)
	go outer(depth, func() {
		p.record, p.id = gid.Record(), gid.ID()
		ready <- true
		<-quit
	})
	<-ready
	p.end = func() { close(quit) }
	return p
}

func parkInPull(depth int) parked {
	p := parked{}
	next, stop := iter.Pull(func(yield func(int) bool) {
		outer(depth, func() {
			p.record, p.id = gid.Record(), gid.ID()
			yield(1)
		})
	})
	next()
	p.end = stop
	return p
}

// text returns the stack of a goroutine as the runtime prints it, with the frames
// of the runtime itself, which it leaves out otherwise.
func text(t *testing.T, id uint64) string {
	t.Helper()
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	for s := range bytes.SplitSeq(buf, []byte("\n\n")) {
		if bytes.HasPrefix(s, fmt.Appendf(nil, "goroutine %d ", id)) {
			return string(s)
		}
	}
	t.Fatalf("goroutine %d is not among the runtime's", id)
	return ""
}

// TestStacks compares the stacks of parked goroutines and coroutines, inlined
// calls included, with what the runtime says of them.
func TestStacks(t *testing.T) {
	p := self(t)
	var all []parked
	var records []Goroutine
	for _, depth := range []int{0, 1, 7, 60, 1000} {
		for _, park := range []func(int) parked{parkInChannel, parkInPull} {
			k := park(depth)
			defer k.end()
			for strings.Contains(text(t, k.id), "[runn") { // it is about to park
				runtime.Gosched()
			}
			all = append(all, k)
			records = append(records, Goroutine{uint64(k.record), k.id})
		}
	}
	for i, s := range p.Stacks(records) {
		if s.State != Waiting || s.Goroutine != all[i].id || s.Cut {
			t.Fatalf("stack %d: goroutine %d, %v, cut %v; want %d, waiting, whole", i, s.Goroutine, s.State, s.Cut, all[i].id)
		}
		want := printed(text(t, all[i].id))
		got := slices.DeleteFunc(described(s.Frames), func(f string) bool {
			return strings.HasPrefix(f, "runtime.")
		})
		if i := slices.IndexFunc(want, func(f string) bool { return strings.HasPrefix(f, "...") }); i >= 0 {
			// The runtime leaves out the middle of deep stacks.
			want, got = want[:i], got[:min(i, len(got))]
		}
		for j := range max(len(want), len(got)) {
			if j >= len(want) || j >= len(got) || got[j] != want[j] {
				t.Errorf("stack %d differs at call %d of %d:\n got %q\nwant %q", i, j, len(got), got[j:min(j+3, len(got))], want[j:min(j+3, len(want))])
				break
			}
		}
	}
	if p.Version != runtime.Version() {
		t.Errorf("Version = %q, want %q", p.Version, runtime.Version())
	}
}

// TestRunning looks at a goroutine that computes, of which the kernel's profiler
// has to tell; where that is forbidden, the answer names the thread.
func TestRunning(t *testing.T) {
	// It runs beside the one that looks, also on one processor.
	if was := runtime.GOMAXPROCS(0); was == 1 {
		runtime.GOMAXPROCS(2)
		defer runtime.GOMAXPROCS(was)
	}
	p := self(t)
	ready, quit := make(chan Goroutine), make(chan bool)
	done := make(chan bool)
	go func() {
		ready <- Goroutine{uint64(gid.Record()), gid.ID()}
		spin(quit)
		close(done)
	}()
	record := <-ready
	s := p.Stacks([]Goroutine{record})[0]
	for s.State != Running || s.How == "" && profilerAllowed() {
		s = p.Stacks([]Goroutine{record})[0]
	}
	if s.How == "" {
		if s.Thread == 0 || len(s.Frames) > 0 {
			t.Errorf("without a profiler: thread %d, frames %q; want a thread and no frames", s.Thread, described(s.Frames))
		}
	} else if !slices.ContainsFunc(s.Frames, func(f Frame) bool { return strings.HasSuffix(f.Func, "goinspect.spin") }) {
		t.Errorf("%v, %s: %q has no call of spin", s.State, s.How, described(s.Frames))
	}
	close(quit)
	<-done
}

// profilerAllowed reports whether the kernel takes samples for this process.
func profilerAllowed() bool {
	fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: unix.PERF_ATTR_SIZE_VER5,
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
}

//go:noinline
func spin(quit chan bool) {
	for turning := true; turning; {
		select {
		case <-quit:
			turning = false
		default:
		}
	}
}

var turns int

// jump is a loop that the compiler turns into an instruction of no line.
//
//go:noinline
func jump() {
	for {
		turns++
	}
}

// TestLines: each instruction of a function has one of the function's lines, also
// one that belongs to none.
func TestLines(t *testing.T) {
	p := self(t)
	entry := uint64(reflect.ValueOf(jump).Pointer())
	first := p.Func(entry)
	f, ok := p.find(entry)
	if !ok || !strings.HasSuffix(first.Func, "goinspect.jump") {
		t.Fatalf("at the entry of jump stands %+v", first)
	}
	none := 0
	for s := range p.spans(f, Uint32(f.record, funcPCLine)) {
		if s.value == noLine {
			none++
		}
		for pc := s.start; pc < s.end; pc++ {
			if got := p.framesAt(f, pc, false); len(got) != 1 || got[0].Line < first.Line-1 || got[0].Line > first.Line+3 {
				t.Errorf("%#x stands at %+v; want a line of jump", pc, got)
			}
		}
	}
	t.Logf("%d spans of no line", none)
}

// TestInterrupted: below a function that a signal put in stands the interrupted instruction
// itself, also if it is the first of its line, and not the one before it.
func TestInterrupted(t *testing.T) {
	p := self(t)
	f, ok := p.find(uint64(reflect.ValueOf(outer).Pointer()))
	if !ok {
		t.Fatal("outer is not a function of the program")
	}
	firsts := 0
	for s := range p.spans(f, Uint32(f.record, funcPCLine)) {
		want := p.framesAt(f, s.start, false)
		if s.start > f.entry && want[0].Line != p.framesAt(f, s.start, true)[0].Line {
			firsts++
		}
		for _, name := range []string{"runtime.asyncPreempt", "runtime.sigpanic"} {
			frames, _ := p.symbolise([]uint64{entryOf(t, p, name) + 1, s.start}, false)
			if len(frames) != 1+len(want) || frames[0].Func != name || frames[1].Line != want[0].Line {
				t.Errorf("%s at %#x: %+v; want %+v below it", name, s.start, frames, want)
			}
		}
	}
	if firsts == 0 {
		t.Error("no instruction of outer stands on another line than the one before it")
	}
}

// entryOf returns the address of a function of the program.
func entryOf(t *testing.T, p *Program, name string) uint64 {
	t.Helper()
	for _, m := range p.modules {
		for i := range m.ftab.n/8 - 1 {
			at, _ := p.code.uint32(m.ftab.addr + i*8 + 4)
			if f, ok := p.function(m, uint64(at)); ok && p.name(f.m, int32(Uint32(f.record, funcName))) == name {
				return f.entry
			}
		}
	}
	t.Fatalf("the program has no function %s", name)
	return 0
}
