//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/internal/poll"
)

// A noted driver notes what is asked of it about descriptors. It may refuse to watch them.
type noted struct {
	driver.Driver
	said   []string
	refuse func(fd uintptr) error
	asleep func() // is called before the loop sleeps
}

func (d *noted) Poll(until int64) error {
	if until >= 0 && d.asleep != nil {
		d.asleep()
	}
	return d.Driver.Poll(until)
}

func (d *noted) Poller() driver.Poller { return d }

func (d *noted) Arm(fd uintptr, want driver.Events, s driver.Sink) error {
	d.said = append(d.said, "arm")
	if d.refuse != nil {
		if err := d.refuse(fd); err != nil {
			return err
		}
	}
	return d.Driver.Poller().Arm(fd, want, s)
}

func (d *noted) Disarm(fd uintptr, which driver.Events) {
	d.said = append(d.said, map[driver.Events]string{
		driver.Readable: "disarm reading", driver.Writable: "disarm writing", driver.Readable | driver.Writable: "disarm both",
	}[which])
	d.Driver.Poller().Disarm(fd, which)
}

func (d *noted) Forget(fd uintptr) {
	d.said = append(d.said, "forget")
	d.Driver.Poller().Forget(fd)
}

// runNoted is run with a noted driver. A loop that is in deadlock ends. want is the error of Run.
func runNoted(t *testing.T, want error, main func(ctx context.Context, d *noted) error) {
	t.Helper()
	watchdog := time.AfterFunc(2*time.Minute, func() { panic(t.Name() + " hangs") })
	defer watchdog.Stop()
	var d *noted
	ctx := driver.With(context.Background(), func() (driver.Driver, error) {
		real, err := poll.Open()
		d = &noted{Driver: real}
		return d, err
	})
	r := &rondo.Runner{EndDeadlock: 1}
	if err := r.Run(ctx, func(ctx context.Context) error { return main(ctx, d) }); !errors.Is(err, want) {
		t.Error(err)
	}
}

// farewells are what may have been done with a descriptor before it is closed, and what the driver
// is told then: to forget it is enough if there is no duplicate and it is closed at once.
var farewells = map[string]struct {
	before func(ctx context.Context, f *fd.FD) error
	want   string
}{
	"it is the only one":   {func(context.Context, *fd.FD) error { return nil }, "forget"},
	"a goroutine has used": {func(_ context.Context, f *fd.FD) error { _, err := f.Std(); return err }, "disarm reading"},
	"it was shown":         {func(_ context.Context, f *fd.FD) error { return f.Control(func(uintptr) {}) }, "disarm reading"},
	"it was shown to wait": {func(ctx context.Context, f *fd.FD) error {
		return f.Wait(f.Task("Wait"), driver.Writable, func(uintptr) bool { return true })
	}, "disarm reading"},
	"it may linger": {func(_ context.Context, f *fd.FD) error { f.Linger(true); return nil }, "disarm reading"},
	"a Write waits": {func(ctx context.Context, f *fd.FD) error {
		_ = f.Control(func(uintptr) {})
		writing(ctx, f, 1<<22)
		return nil
	}, "disarm both"},
}

// TestFarewell: what the driver is told when an FD is closed, and when its descriptor is taken away
// and is closed by a Stream.
func TestFarewell(t *testing.T) {
	for name, c := range farewells {
		for _, detach := range []bool{false, true} {
			runNoted(t, nil, func(ctx context.Context, d *noted) error {
				f, peer, err := socketPair(ctx)
				if err != nil {
					return err
				}
				defer peer.Close()
				f.Sole(true)
				if f.WatchInput(new(bell)) {
					t.Error("there is nothing to read")
				}
				if err := c.before(ctx, f); err != nil {
					return err
				}
				d.said = nil
				if !detach {
					if err := f.Close(); err != nil || !slices.Equal(d.said, []string{c.want}) {
						t.Errorf("%s: %q, %v", name, d.said, err)
					}
					return nil
				}
				stream, err := f.Detach()
				if c.want == "disarm both" {
					_ = f.Close()
					if err == nil {
						t.Error("a socket that a task uses was taken away")
					}
					return nil
				}
				err = errors.Join(err, stream.Arm(kernel.Of(ctx), driver.Readable, new(ears)))
				for range 2 {
					stream.Stop(kernel.Of(ctx))
				}
				stream.Close(kernel.Of(ctx))
				if !slices.Equal(d.said, []string{"disarm reading", "arm", c.want}) {
					t.Errorf("%s, and taken away: %q", name, d.said)
				}
				return err
			})
		}
	}
}

// ears is a Sink that listens to nothing.
type ears struct{}

func (*ears) Ready(driver.Events) {}

// TestDetachEnds: who watches an FD whose descriptor is taken away is called, and no timer is left.
func TestDetachEnds(t *testing.T) {
	runNoted(t, nil, func(ctx context.Context, d *noted) error {
		f, peer, err := socketPair(ctx)
		if err != nil {
			return err
		}
		defer peer.Close()
		if err := f.SetDeadline(driver.Readable|driver.Writable, time.Now().Add(time.Hour)); err != nil {
			return err
		}
		write := writing(ctx, f, 1<<22)
		go func() { _, _ = io.CopyN(io.Discard, peer, 1<<22) }()
		if _, err := write.Wait(ctx); err != nil {
			return err
		}
		var b bell
		f.WatchInput(&b)
		s, err := f.Detach()
		if timers := rondo.LoopOf(ctx).Stats().Timers; b.rung != 1 || timers != 0 {
			t.Errorf("called %d times; %d timers are left", b.rung, timers)
		}
		if _, err := f.Read(make([]byte, 1)); err != net.ErrClosed {
			t.Errorf("Read: %v", err)
		}
		s.Close(kernel.Of(ctx))
		return err
	})
}

// TestTurnWakes: while a goroutine holds a Side, a task that waits for its turn is in no deadlock,
// and afterwards the loop may be.
func TestTurnWakes(t *testing.T) {
	runNoted(t, rondo.ErrDeadlock, func(ctx context.Context, d *noted) error {
		loop := kernel.Of(ctx)
		var s fd.Side
		s.Begin(loop, true)
		looked, taken, slept := make(chan struct{}), make(chan struct{}), 0
		d.asleep = func() {
			if slept++; slept < 5 {
				d.Wake()
				return
			}
			d.asleep = nil
			close(looked)
		}
		go func() {
			_ = s.Take(nil)
			close(taken)
			<-looked
			s.Release()
		}()
		<-taken
		if err := s.Take(loop.Task()); err != nil {
			t.Errorf("Take: %v", err)
		}
		return new(rondo.Event).Wait(ctx)
	})
}

// TestStreamControl: the descriptor is shown until the Stream is closed. A driver must not rely on
// its being the only one any more.
func TestStreamControl(t *testing.T) {
	runNoted(t, nil, func(ctx context.Context, d *noted) error {
		f, peer, err := socketPair(ctx)
		if err != nil {
			return err
		}
		defer peer.Close()
		f.Sole(true)
		s, err := f.Detach()
		if err != nil {
			return err
		}
		loop := kernel.Of(ctx)
		shown := -1
		err = errors.Join(s.Arm(loop, driver.Readable, new(ears)), s.Control(func(sys uintptr) { shown = int(sys) }))
		if shown != s.Sys() {
			t.Errorf("descriptor %d was shown, want %d", shown, s.Sys())
		}
		s.Stop(loop)
		s.Close(loop)
		if !slices.Equal(d.said, []string{"arm", "disarm reading"}) {
			t.Errorf("%q", d.said)
		}
		if err := s.Control(func(uintptr) { t.Error("called") }); err != os.ErrClosed {
			t.Errorf("after Close: %v", err)
		}
		return err
	})
}

// TestLingers: a connection whose linger time is very long, and whose peer reads late, is closed
// beside the loop.
func TestLingers(t *testing.T) {
	for _, detach := range []bool{false, true} {
		run(t, func(ctx context.Context) error {
			f, peer, err := full(ctx)
			if err != nil {
				return err
			}
			defer peer.Close()
			f.Linger(true)
			if detach {
				s, err := f.Detach()
				if err != nil {
					return err
				}
				s.Close(f.Loop())
			} else if err := f.Close(); err != nil {
				return err
			}
			_, err = rondo.Offload(ctx, func(context.Context) (int64, error) { return io.Copy(io.Discard, peer) })
			return err
		})
	}
}

// full returns a connection that holds all the bytes it can, with a linger time, and its peer.
func full(ctx context.Context) (f *fd.FD, peer net.Conn, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	if peer, err = l.Accept(); err != nil {
		return nil, nil, err
	}
	sys, err := fd.Dup(c)
	if err != nil {
		return nil, nil, err
	}
	f = fd.New(kernel.Of(ctx), sys, nil)
	err = unix.SetsockoptLinger(sys, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: 1000})
	for err == nil {
		_, err = unix.Write(sys, make([]byte, 1<<16))
	}
	if err == unix.EAGAIN {
		err = nil
	}
	return f, peer, err
}

// TestForgotten: the descriptors of FDs that nobody has any more are closed.
func TestForgotten(t *testing.T) {
	run(t, func(ctx context.Context) error {
		before := leak.Descriptors()
		r, w := pipe(t, ctx)
		for _, f := range []*fd.FD{r, w} {
			if _, err := f.Write(nil); err != nil { // this opens it
				return err
			}
			one, err := f.Std()
			if err == nil {
				err = one.Close() // which a user might do
			}
			if err != nil {
				return err
			}
		}
		if n := leak.Descriptors(); n != before+2 && n != 0 { // 0 where they cannot be counted
			t.Errorf("%d descriptors, want %d", n, before+2)
		}
		r, w = nil, nil
		for leak.Descriptors() > before {
			runtime.GC()
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}
