package rondo

import (
	"context"
	"testing"
)

// TestLine adds members that ask for different things, and takes the runs off.
func TestLine(t *testing.T) {
	var l line
	add := func(write bool) { l.last(write).counted++ }
	for _, write := range []bool{true, false, false, true, true, false} {
		add(write)
	}
	var kept *run
	for _, want := range []*run{{write: true, counted: 1}, {counted: 2}, {write: true, counted: 2}, {counted: 1}} {
		r := l.head
		if r == nil || r.write != want.write || r.counted != want.counted {
			t.Fatalf("the head is %+v, want %+v", r, want)
		}
		if want.write {
			r.counted = 0
		} else {
			kept = r // as if a member had been cancelled and not run since
		}
		l.shorten()
	}
	if l.head != nil {
		t.Error("the line is not empty")
	}
	for _, write := range []bool{true, false, true} {
		add(write)
	}
	for r := l.head; r != nil; r = l.head {
		if r == kept || r.counted != 1 {
			t.Errorf("a run that still counted a member is used again: %+v", r)
		}
		l.shorten()
	}
	free := testing.AllocsPerRun(100, func() {
		l.last(true).counted = 0
		l.shorten()
	})
	if free > 0 {
		t.Errorf("a run costs %v allocations although there is one to spare", free)
	}
}

// TestLineForgets: what was cancelled behind a task that goes on waiting leaves no runs in the
// line.
func TestLineForgets(t *testing.T) {
	err := Run(t.Context(), func(ctx context.Context) error {
		var m RWMutex
		_ = m.TryRLock()
		wait := func(what string, fn func(ctx context.Context) error) (*Task, error) {
			task := Go(ctx, fn)
			for task.Info().Waiting != what {
				if err := Yield(ctx); err != nil {
					return nil, err
				}
			}
			return task, nil
		}
		first, err := wait("lock", m.Lock)
		if err != nil {
			return err
		}
		for range 100 {
			reader, err := wait("rlock", m.RLock)
			if err != nil {
				return err
			}
			writer, err := wait("lock", m.Lock)
			if err != nil {
				return err
			}
			for _, task := range []*Task{reader, writer} {
				task.Cancel(nil)
				_ = task.Wait(ctx)
			}
		}
		n := 0
		for r := m.line.head; r != nil; r = r.next {
			n++
		}
		if n != 1 || m.line.tail != m.line.head {
			t.Errorf("there are %d runs for one task that waits", n)
		}
		m.RUnlock()
		return first.Wait(ctx)
	})
	if err != nil {
		t.Error(err)
	}
}
