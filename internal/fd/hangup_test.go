package fd_test

import (
	"context"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
)

// TestHungUp: HungUp says that the peer has left only if no task knows or is about to.
func TestHungUp(t *testing.T) {
	left := func(_ context.Context, s *script, _ *fd.FD) { s.report(driver.Readable, driver.HangUp) }
	for name, c := range map[string]struct {
		when   func(ctx context.Context, s *script, f *fd.FD)
		hungUp bool
		atEnd  bool
	}{
		"nothing has happened": {when: func(context.Context, *script, *fd.FD) {}},
		"there is data":        {when: func(_ context.Context, s *script, _ *fd.FD) { s.report(driver.Readable, 0) }},
		"it has left data":     {when: left, hungUp: true},
		"it has left":          {when: left, hungUp: true, atEnd: true},
		"a task reads": {atEnd: true, when: func(ctx context.Context, s *script, f *fd.FD) {
			left(ctx, s, f)
			reading(ctx, f, 1)
		}},
		"a task writes": {atEnd: true, when: func(ctx context.Context, s *script, f *fd.FD) {
			left(ctx, s, f)
			writing(ctx, f, 1)
		}},
		"a task has read something": {hungUp: true, atEnd: true, when: func(ctx context.Context, s *script, f *fd.FD) {
			left(ctx, s, f)
			s.in = []answer{{n: 1}}
			reading(ctx, f, 1)
		}},
		"a task has read the end": {atEnd: true, when: func(ctx context.Context, s *script, f *fd.FD) {
			left(ctx, s, f)
			s.in = []answer{{n: 0}}
			reading(ctx, f, 1)
		}},
		"a task has received what may be the end": {atEnd: true, when: func(ctx context.Context, s *script, f *fd.FD) {
			left(ctx, s, f)
			receiving(ctx, s, f)
		}},
		"a task had received something before it left": {hungUp: true, atEnd: true, when: func(ctx context.Context, s *script, f *fd.FD) {
			receiving(ctx, s, f)
			left(ctx, s, f)
		}},
		"a Read has failed": {atEnd: true, when: func(ctx context.Context, s *script, f *fd.FD) {
			left(ctx, s, f)
			s.in = []answer{{errno: syscall.ECONNRESET}}
			reading(ctx, f, 1)
		}},
		"a Write has failed": {atEnd: true, when: func(ctx context.Context, s *script, f *fd.FD) {
			left(ctx, s, f)
			s.out = []answer{{errno: syscall.EPIPE}}
			writing(ctx, f, 1)
		}},
		"it is closed": {atEnd: true, when: func(ctx context.Context, s *script, f *fd.FD) {
			left(ctx, s, f)
			f.Close()
		}},
		"a goroutine has closed it a moment ago": {atEnd: true, when: func(ctx context.Context, s *script, f *fd.FD) {
			left(ctx, s, f)
			beside(func() { f.Close() })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(ctx context.Context) error {
				s, f := scripted(ctx)
				defer f.Close()
				f.WatchHangUps(new(bell), true)
				s.atEnd = c.atEnd
				c.when(ctx, s, f)
				hungUp, atEnd := f.HungUp()
				if hungUp != c.hungUp || hungUp && atEnd != c.atEnd {
					t.Errorf("hung up: %v, at the end: %v", hungUp, atEnd)
				}
				return nil
			})
		})
	}
}

// receiving lets a task receive a datagram, which may be empty.
func receiving(ctx context.Context, s *script, f *fd.FD) {
	s.in = []answer{{n: 0}}
	started(ctx, func() (int, error) {
		n, _, err := f.ReceiveVirtual(f.Task("Receive"), make([]byte, 1))
		return n, err
	})
}

// TestWatchHangUps: the Watcher is called at the report if no task reads, and after each operation
// that follows, until one has returned the end of the stream.
func TestWatchHangUps(t *testing.T) {
	run(t, func(ctx context.Context) error {
		s, f := scripted(ctx)
		defer f.Close()
		var b bell
		rings := func(want int, after string) {
			t.Helper()
			if b.rung != want {
				t.Errorf("called %d times after %s, want %d", b.rung, after, want)
			}
			b.rung = 0
		}
		f.WatchHangUps(&b, true)
		s.out = []answer{{n: 1}, {n: 1}, {n: 1}, {n: 1}, {n: 1}}
		s.in = []answer{{n: 1}, {n: 1}}
		writing(ctx, f, 1)
		f.TryWrite(make([]byte, 1))
		reading(ctx, f, 1)
		s.report(driver.Readable, 0)
		rings(0, "operations before the report")
		s.report(driver.Readable, driver.HangUp)
		rings(1, "the report")
		reading(ctx, f, 1)
		rings(1, "a Read")
		writing(ctx, f, 1)
		rings(1, "a Write")
		f.TryWrite(make([]byte, 1))
		rings(1, "a TryWrite")
		waits := reading(ctx, f, 1)
		s.report(driver.Readable, driver.HangUp)
		rings(0, "a report for which a task waits")
		s.in = []answer{{n: 0}}
		if _, err := waits.Wait(ctx); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
		writing(ctx, f, 1)
		rings(0, "the end of the stream")
		return nil
	})
}

// TestActivity: each direction is told once, also of a connection that is not registered.
func TestActivity(t *testing.T) {
	run(t, func(ctx context.Context) error {
		s, f := scripted(ctx)
		defer f.Close()
		for _, c := range []struct{ read, wrote bool }{{false, false}, {true, false}, {false, true}, {true, true}, {false, false}} {
			if c.read {
				s.in = []answer{{n: 1}}
				reading(ctx, f, 1)
			}
			if c.wrote {
				s.out = []answer{{n: 1}}
				writing(ctx, f, 1)
			}
			if read, wrote := f.Activity(); read != c.read || wrote != c.wrote {
				t.Errorf("read: %v, wrote: %v, want %v", read, wrote, c)
			}
		}
		// What a goroutine does is not seen, so it counts as both.
		one, two := net.Pipe()
		defer two.Close()
		foreign := fd.Adopt(f.Loop(), one)
		if read, wrote := foreign.Activity(); !read || !wrote {
			t.Errorf("a goroutine's connection: read: %v, wrote: %v", read, wrote)
		}
		return foreign.Close()
	})
}
