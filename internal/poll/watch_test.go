//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package poll_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
	"weak"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
)

// The contract of driver.Poller, put to the backend Open gives.

// A watcher is a driver that is a Poller too.
type watcher interface {
	driver.Driver
	driver.Poller
}

func openWatcher(t testing.TB) watcher {
	t.Helper()
	w, ok := open(t).(watcher)
	if !ok {
		t.Fatal("the driver watches no descriptors")
	}
	return w
}

// A sink remembers what it was told, and does more in Ready if asked to.
type sink struct {
	told  driver.Events
	calls int
	then  func()
}

func (s *sink) Ready(ev driver.Events) {
	s.told |= ev
	s.calls++
	if s.then != nil {
		s.then()
	}
}

// take gives what the sink was told since the last take.
func (s *sink) take() driver.Events {
	told := s.told
	s.told, s.calls = 0, 0
	return told
}

// pair gives two connected stream sockets that do not block.
func pair(t testing.TB) (a, b int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if err := unix.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
	}
	return fds[0], fds[1]
}

func arm(t testing.TB, w watcher, fd int, want driver.Events, s driver.Sink) {
	t.Helper()
	if err := w.Arm(uintptr(fd), want, s); err != nil {
		t.Fatalf("Arm of %d: %v", fd, err)
	}
}

func write(t testing.TB, fd int, data string) {
	t.Helper()
	if n, err := unix.Write(fd, []byte(data)); n != len(data) || err != nil {
		t.Errorf("write: %d, %v", n, err)
	}
}

// drain reads until EAGAIN and gives the number of bytes.
func drain(t testing.TB, fd int) (total int) {
	t.Helper()
	var buf [512]byte
	for {
		n, err := unix.Read(fd, buf[:])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN || n == 0 && err == nil:
			return total
		case err != nil:
			t.Fatalf("read: %v", err)
		default:
			total += n
		}
	}
}

// fill writes until EAGAIN.
func fill(t testing.TB, fd int) {
	t.Helper()
	buf := make([]byte, 1<<14)
	for {
		if _, err := unix.Write(fd, buf); err == unix.EAGAIN {
			return
		} else if err != nil && err != unix.EINTR {
			t.Fatalf("write: %v", err)
		}
	}
}

// expect polls until the sink has been told what is wanted, at least.
func expect(t testing.TB, w watcher, s *sink, want driver.Events) {
	t.Helper()
	for s.told&want != want {
		sleep(t, w)
	}
}

// silent polls and expects the sink to be told nothing.
func silent(t testing.TB, w watcher, s *sink) {
	t.Helper()
	for range 3 {
		glance(t, w)
	}
	if s.calls != 0 {
		t.Errorf("told %b, and expected no news", s.take())
	}
}

func TestReadable(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	a, b := pair(t)
	s := new(sink)
	arm(t, w, a, driver.Readable, s)
	silent(t, w, s)
	for range 20 {
		write(t, b, "rondo")
		expect(t, w, s, driver.Readable)
		if told := s.take(); told != driver.Readable {
			t.Errorf("told %b, want Readable alone", told)
		}
		if n := drain(t, a); n != 5 {
			t.Errorf("read %d bytes", n)
		}
		arm(t, w, a, driver.Readable, s)
		silent(t, w, s)
	}
	w.Disarm(uintptr(a), driver.Readable)
	write(t, b, "more")
	silent(t, w, s)
}

// What was there before Arm is news too.
func TestReadableBeforeArm(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	a, b := pair(t)
	write(t, b, "early")
	s := new(sink)
	arm(t, w, a, driver.Readable, s)
	expect(t, w, s, driver.Readable)
	// Reports are edges: unread data is told once.
	s.take()
	silent(t, w, s)
	// And more of it is another edge.
	write(t, b, "more")
	expect(t, w, s, driver.Readable)
}

func TestWritable(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	a, b := pair(t)
	fill(t, a)
	s := new(sink)
	arm(t, w, a, driver.Writable, s)
	silent(t, w, s)
	for range 5 {
		drain(t, b)
		expect(t, w, s, driver.Writable)
		if told := s.take(); told != driver.Writable {
			t.Errorf("told %b, want Writable alone", told)
		}
		fill(t, a)
		arm(t, w, a, driver.Writable, s)
		glance(t, w)
		s.take() // a reader may make room while the socket is being filled
	}
}

// Each direction has a sink of its own, or both the same one.
func TestBothDirections(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	a, b := pair(t)
	reader, writer := new(sink), new(sink)
	arm(t, w, a, driver.Readable, reader)
	arm(t, w, a, driver.Writable, writer)
	expect(t, w, writer, driver.Writable)
	write(t, b, "x")
	expect(t, w, reader, driver.Readable)
	if reader.take() != driver.Readable || writer.take() != driver.Writable {
		t.Error("a sink was told of the other's direction")
	}

	// To take one away leaves the other.
	w.Disarm(uintptr(a), driver.Writable)
	write(t, b, "x")
	expect(t, w, reader, driver.Readable)
	if writer.calls != 0 {
		t.Error("told after Disarm")
	}
	w.Disarm(uintptr(a), driver.Readable|driver.Writable)

	whole := new(sink)
	arm(t, w, a, driver.Readable|driver.Writable, whole)
	expect(t, w, whole, driver.Readable|driver.Writable)
	w.Disarm(uintptr(a), driver.Readable|driver.Writable)
	whole.take()
	write(t, b, "x")
	silent(t, w, whole)
}

// TestTakeover: a sink that takes a direction over hears of what the one
// before it was told already, and that one hears nothing more.
func TestTakeover(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	a, b := pair(t)
	first, second, third := new(sink), new(sink), new(sink)
	write(t, b, "unread")
	arm(t, w, a, driver.Readable, first)
	expect(t, w, first, driver.Readable)
	first.take()
	arm(t, w, a, driver.Readable, second)
	expect(t, w, second, driver.Readable)
	second.take()
	arm(t, w, a, driver.Readable|driver.Writable, third)
	expect(t, w, third, driver.Readable|driver.Writable)
	write(t, b, "more")
	expect(t, w, third, driver.Readable)
	if first.calls+second.calls != 0 {
		t.Error("a sink whose direction was taken over was told")
	}
	// A direction that was given up and taken again starts anew as well.
	w.Disarm(uintptr(a), driver.Readable)
	third.take()
	arm(t, w, a, driver.Readable, third)
	expect(t, w, third, driver.Readable)
}

func TestHangUp(t *testing.T) {
	watchdog(t)
	for _, c := range []struct {
		name string
		end  func(t *testing.T, fd int)
		read driver.Events
		both bool // both directions have ended
	}{
		{"Shutdown", func(t *testing.T, fd int) {
			if err := unix.Shutdown(fd, unix.SHUT_WR); err != nil {
				t.Fatal(err)
			}
		}, driver.Readable | driver.HangUp, false},
		{"Close", func(t *testing.T, fd int) { unix.Close(fd) }, driver.Readable | driver.HangUp, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := openWatcher(t)
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				t.Fatal(err)
			}
			closed := false
			defer func() {
				unix.Close(fds[0])
				if !closed {
					unix.Close(fds[1])
				}
			}()
			reader, writer := new(sink), new(sink)
			arm(t, w, fds[0], driver.Readable, reader)
			arm(t, w, fds[0], driver.Writable, writer)
			expect(t, w, writer, driver.Writable)
			reader.take()
			writer.take()
			c.end(t, fds[1])
			closed = c.both
			expect(t, w, reader, c.read)
			if c.both {
				expect(t, w, writer, driver.Writable|driver.HangUp)
			} else if writer.told&driver.HangUp != 0 {
				t.Error("the writer was told of a hang-up, and can still write")
			}
			w.Disarm(uintptr(fds[0]), driver.Readable|driver.Writable)
		})
	}
}

func TestPipeHangUp(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	var r, wr [2]int
	if err := errors.Join(unix.Pipe(r[:]), unix.Pipe(wr[:])); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(r[0])
	defer unix.Close(wr[1])
	reader, writer := new(sink), new(sink)
	arm(t, w, r[0], driver.Readable, reader)
	unix.Close(r[1])
	expect(t, w, reader, driver.Readable|driver.HangUp)
	arm(t, w, wr[1], driver.Writable, writer)
	expect(t, w, writer, driver.Writable)
	unix.Close(wr[0])
	expect(t, w, writer, driver.Writable|driver.HangUp)
}

func TestRegularFile(t *testing.T) {
	w := openWatcher(t)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, filepath.Dir(path)} {
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := new(sink)
		for range 2 {
			if err := w.Arm(uintptr(fd), driver.Readable, s); !errors.Is(err, syscall.EPERM) {
				t.Errorf("Arm of %s: %v, want EPERM", name, err)
			}
		}
		silent(t, w, s)
		w.Disarm(uintptr(fd), driver.Readable)
		unix.Close(fd)
	}
}

// A number that is no descriptor's is refused, and costs no room.
func TestBadDescriptor(t *testing.T) {
	w := openWatcher(t)
	for _, fd := range []uintptr{1 << 30, math.MaxInt32, 1 << 31, ^uintptr(0)} {
		if err := w.Arm(fd, driver.Readable, new(sink)); !errors.Is(err, syscall.EBADF) {
			t.Errorf("Arm of %#x: %v, want EBADF", fd, err)
		}
		w.Disarm(fd, driver.Readable|driver.Writable)
	}
	a, _ := pair(t)
	w.Disarm(uintptr(a), driver.Readable|driver.Writable|driver.HangUp)
}

func TestHighDescriptor(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	a, b := pair(t)
	high, err := unix.FcntlInt(uintptr(a), unix.F_DUPFD_CLOEXEC, 900)
	if err != nil {
		t.Skipf("no descriptor above 900: %v", err)
	}
	defer unix.Close(high)
	s := new(sink)
	arm(t, w, high, driver.Readable, s)
	write(t, b, "x")
	expect(t, w, s, driver.Readable)
	w.Disarm(uintptr(high), driver.Readable)
}

// TestReuse closes a descriptor in the middle of a batch of news and gives its
// number to another, once for each of the two that are in the batch: the new
// owner must not be told the old one's news.
func TestReuse(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	both := driver.Readable | driver.Writable
	var a, b [2]int
	for i := range a {
		a[i], b[i] = pair(t)
	}
	quiet, peer := pair(t)
	first, heir := -1, new(sink)
	var s [2]sink
	for i := range s {
		s[i].then = func() {
			if first >= 0 {
				return
			}
			first = i
			other := a[1-i]
			w.Disarm(uintptr(other), both)
			if err := unix.Dup2(quiet, other); err != nil { // closes it
				t.Error(err)
			}
			arm(t, w, other, driver.Readable, heir)
		}
		arm(t, w, a[i], driver.Readable, &s[i])
	}
	write(t, b[0], "x")
	write(t, b[1], "x")
	for first < 0 {
		sleep(t, w)
	}
	silent(t, w, heir)
	if s[1-first].calls != 0 {
		t.Error("told after Disarm, in the same batch")
	}
	write(t, peer, "x")
	expect(t, w, heir, driver.Readable)
}

// A descriptor that was closed without Disarm is a mistake, but the next owner
// of the number does not pay for it.
func TestReuseWithoutDisarm(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	a, _ := pair(t)
	dead := new(sink)
	arm(t, w, a, driver.Readable|driver.Writable, dead)
	expect(t, w, dead, driver.Writable)
	dead.take()
	c, d := pair(t)
	if err := unix.Dup2(c, a); err != nil {
		t.Fatal(err)
	}
	s := new(sink)
	arm(t, w, a, driver.Readable, s)
	write(t, d, "x")
	expect(t, w, s, driver.Readable)
	if dead.calls != 0 {
		t.Error("the sink of a closed descriptor was told")
	}
	w.Disarm(uintptr(a), driver.Readable)
	silent(t, w, dead)
}

// A sink may disarm itself, arm another, and close, all in Ready.
func TestArmInReady(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	a, b := pair(t)
	c, _ := pair(t)
	s, next := new(sink), new(sink)
	s.then = func() {
		w.Disarm(uintptr(a), driver.Readable|driver.Writable)
		arm(t, w, c, driver.Writable, next)
	}
	writer := new(sink)
	arm(t, w, a, driver.Readable, s)
	arm(t, w, a, driver.Writable, writer)
	write(t, b, "x")
	for s.calls == 0 {
		writer.take()
		sleep(t, w)
	}
	told := writer.calls
	expect(t, w, next, driver.Writable)
	if writer.calls != told {
		t.Error("the writer was told after the reader had disarmed it")
	}
}

// More descriptors than one look takes: each is told of its edge once.
func TestManyDescriptors(t *testing.T) {
	watchdog(t)
	const many = 300
	w := openWatcher(t)
	sinks := make([]sink, many)
	fds := make([]int, many)
	for i := range fds {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		fds[i] = fd
		arm(t, w, fd, driver.Writable, &sinks[i])
	}
	for i := range sinks {
		expect(t, w, &sinks[i], driver.Writable)
	}
	glance(t, w)
	for i, fd := range fds {
		w.Disarm(uintptr(fd), driver.Writable)
		if sinks[i].calls != 1 {
			t.Errorf("descriptor %d was told %d times of one edge", i, sinks[i].calls)
		}
	}
}

// TestNoEdgeIsLost is an echo whose every byte depends on the one before it.
//
// Method: the writer waits a little, another while each time, so that its byte
// comes before, into and after every step of going to sleep; the loop looks
// without sleeping for a while in some rounds, so that the backend takes itself
// for busy and has to begin listening again.
func TestNoEdgeIsLost(t *testing.T) {
	watchdog(t)
	const rounds = 20_000
	w := openWatcher(t)
	a, b := pair(t)
	var writer sync.WaitGroup
	begin := make(chan struct{}, 1)
	writer.Go(func() {
		p := pause{seed: 3}
		for range rounds {
			<-begin
			p.spin()
			write(t, b, "x")
			if p.seed>>12%8 == 0 {
				w.Wake() // at times with a Wake at its heels
			}
		}
	})
	s := new(sink)
	p := pause{seed: 4}
	for round := range rounds {
		if n := drain(t, a); n != 0 {
			t.Fatalf("read %d bytes that nobody asked for", n)
		}
		arm(t, w, a, driver.Readable, s)
		begin <- struct{}{}
		p.spin()
		for range round % 12 {
			glance(t, w)
		}
		for s.told&driver.Readable == 0 {
			until := driver.Forever
			if round%3 == 0 {
				until = w.Now() + int64(time.Hour) + int64(round)
			}
			if err := w.Poll(until); err != nil {
				t.Fatal(err)
			}
		}
		s.take()
		if n := drain(t, a); n != 1 {
			t.Fatalf("read %d bytes of one", n)
		}
	}
	writer.Wait()
	w.Disarm(uintptr(a), driver.Readable)
}

// TestManyPeers echoes to many goroutines at once over one loop.
func TestManyPeers(t *testing.T) {
	watchdog(t)
	const peers, rounds = 40, 200
	w := openWatcher(t)
	var group sync.WaitGroup
	open := 0
	for id := range peers {
		a, b := pair(t)
		if err := unix.SetNonblock(b, false); err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			var buf [1]byte
			for i := range rounds {
				write(t, b, string(rune('a'+(id+i)%26)))
				if n, err := unix.Read(b, buf[:]); n != 1 || err != nil || buf[0] != byte('a'+(id+i)%26) {
					t.Errorf("read %d, %v, %q", n, err, buf)
				}
			}
			unix.Shutdown(b, unix.SHUT_WR)
		})
		open++
		s := new(sink)
		s.then = func() {
			var buf [8]byte
			for {
				n, err := unix.Read(a, buf[:])
				switch {
				case err == unix.EAGAIN:
					arm(t, w, a, driver.Readable, s)
					return
				case err != nil || n == 0:
					w.Disarm(uintptr(a), driver.Readable)
					open--
					return
				}
				write(t, a, string(buf[:n]))
			}
		}
		arm(t, w, a, driver.Readable, s)
	}
	for open > 0 {
		sleep(t, w)
	}
	group.Wait()
}

// A driver that lives keeps no sink that was disarmed or taken over.
func TestDisarmForgetsTheSink(t *testing.T) {
	w := openWatcher(t)
	a, _ := pair(t)
	last := new(sink)
	gone := func() (gone [3]weak.Pointer[sink]) {
		for i := range gone {
			s := &sink{then: func() {}}
			gone[i] = weak.Make(s)
			arm(t, w, a, driver.Readable|driver.Writable, s)
			glance(t, w)
			if i == 0 {
				w.Disarm(uintptr(a), driver.Readable|driver.Writable)
			}
		}
		arm(t, w, a, driver.Readable|driver.Writable, last)
		return gone
	}()
	for range 10 {
		runtime.GC()
	}
	for i := range gone {
		if gone[i].Value() != nil {
			t.Errorf("sink %d is still held", i)
		}
	}
	runtime.KeepAlive(w)
	w.Disarm(uintptr(a), driver.Readable|driver.Writable)
}

func TestWatchingDoesNotAllocate(t *testing.T) {
	w := openWatcher(t)
	a, b := pair(t)
	s := new(sink)
	one, buf := []byte("x"), make([]byte, 8)
	if n := testing.AllocsPerRun(100, func() {
		w.Arm(uintptr(a), driver.Readable, s)
		unix.Write(b, one)
		for s.told == 0 {
			w.Poll(driver.Forever)
		}
		s.take()
		unix.Read(a, buf)
		w.Arm(uintptr(a), driver.Readable, s)
		w.Arm(uintptr(a), driver.Writable, s)
		w.Poll(0)
		w.Disarm(uintptr(a), driver.Readable|driver.Writable)
		s.take()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkByte is one byte through a socketpair and its news.
func BenchmarkByte(b *testing.B) {
	for _, c := range []struct {
		name  string
		until int64
	}{{"Looking", 0}, {"Ready", driver.Forever}} {
		b.Run(c.name, func(b *testing.B) {
			w := openWatcher(b)
			x, y := pair(b)
			s := new(sink)
			one, buf := []byte("x"), make([]byte, 8)
			for range b.N {
				w.Arm(uintptr(x), driver.Readable, s)
				unix.Write(y, one)
				for s.told == 0 {
					w.Poll(c.until)
				}
				s.told = 0
				unix.Read(x, buf)
			}
			w.Disarm(uintptr(x), driver.Readable)
		})
	}
}
