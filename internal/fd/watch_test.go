package fd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
)

// TestWatchInput: WatchInput answers what a Read would find, and calls the Watcher once if that
// changes.
func TestWatchInput(t *testing.T) {
	for name, c := range map[string]struct {
		before func(ctx context.Context, s *script, f *fd.FD)
		ready  bool
		report driver.Events // comes next
		rings  int
	}{
		"nothing has come":    {before: func(context.Context, *script, *fd.FD) {}},
		"data comes":          {before: func(context.Context, *script, *fd.FD) {}, report: driver.Readable, rings: 1},
		"the end comes":       {before: func(context.Context, *script, *fd.FD) {}, report: driver.HangUp, rings: 1},
		"urgent data is none": {before: func(context.Context, *script, *fd.FD) {}, report: driver.Urgent},
		"data has been reported": {ready: true, before: func(ctx context.Context, s *script, f *fd.FD) {
			f.WatchInput(new(bell))
			s.report(driver.Readable, 0)
		}},
		"a Read has taken all of it": {report: driver.Readable, rings: 1, before: func(ctx context.Context, s *script, f *fd.FD) {
			f.WatchInput(new(bell))
			s.report(driver.Readable, 0)
			s.in = []answer{{n: 1}}
			reading(ctx, f, 2)
		}},
		"a datagram was received": {report: driver.Readable, rings: 1, before: func(ctx context.Context, s *script, f *fd.FD) {
			f.WatchInput(new(bell))
			s.report(driver.Readable, 0)
			receiving(ctx, s, f)
		}},
		"a Read has left some of it": {ready: true, before: func(ctx context.Context, s *script, f *fd.FD) {
			f.WatchInput(new(bell))
			s.report(driver.Readable, 0)
			s.in, s.input = []answer{{n: 2}}, true
			reading(ctx, f, 2)
		}},
		"a Read has filled its buffer with the last of it": {report: driver.Readable, rings: 1, before: func(ctx context.Context, s *script, f *fd.FD) {
			f.WatchInput(new(bell))
			s.report(driver.Readable, 0)
			s.in = []answer{{n: 2}}
			reading(ctx, f, 2)
		}},
		"the deadline has passed": {ready: true, before: func(_ context.Context, _ *script, f *fd.FD) {
			_ = f.SetDeadline(driver.Readable, time.Unix(1, 0))
		}},
		"it is closed": {ready: true, before: func(_ context.Context, _ *script, f *fd.FD) { f.Close() }},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(ctx context.Context) error {
				s, f := scripted(ctx)
				defer f.Close()
				c.before(ctx, s, f)
				var b bell
				if ready := f.WatchInput(&b); ready != c.ready {
					t.Errorf("ready: %v", ready)
				}
				if c.report == driver.Urgent {
					s.sinks[driver.Readable].Ready(driver.Urgent)
				} else if c.report != 0 {
					s.report(driver.Readable, c.report)
					s.report(driver.Readable, c.report)
				}
				if b.rung != c.rings {
					t.Errorf("the Watcher was called %d times, want %d", b.rung, c.rings)
				}
				return nil
			})
		})
	}
}

// TestWatchEnds: the Watcher is called at the deadline and by Close, and not after Unwatch; then
// nothing is left that could wake the loop.
func TestWatchEnds(t *testing.T) {
	err := (&rondo.Runner{EndDeadlock: 1}).Run(context.Background(), func(ctx context.Context) error {
		for name, end := range map[string]func(f *fd.FD) error{
			"the deadline": func(f *fd.FD) error { return f.SetDeadline(driver.Readable, time.Unix(1, 0)) },
			"Close":        (*fd.FD).Close,
			"Unwatch":      func(f *fd.FD) error { f.Unwatch(); return nil },
		} {
			s, f := scripted(ctx)
			if !f.CanUnwatch() {
				t.Error("Unwatch does not work")
			}
			var b bell
			f.WatchInput(&b)
			err := end(f)
			s.report(driver.Readable, 0)
			f.Unwatch()
			if rung := b.rung == 1; err != nil || rung != (name != "Unwatch") {
				t.Errorf("%s: called %d times, %v", name, b.rung, err)
			}
			_ = f.Close() // one is closed
		}
		return new(rondo.Event).Wait(ctx)
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Error(err)
	}
}

// TestEnded: only the end of the stream and errors count, and not data.
func TestEnded(t *testing.T) {
	run(t, func(ctx context.Context) error {
		s, f := scripted(ctx)
		for _, end := range []bool{false, true} {
			if s.atEnd = end; f.Ended() != end {
				t.Errorf("at the end: %v, Ended: %v", end, f.Ended())
			}
		}
		s.atEnd = false
		if err := f.Close(); err != nil || !f.Ended() {
			t.Errorf("after Close: %v, %v", f.Ended(), err)
		}
		return nil
	})
}
