package rondo

// This file opens the kernel to Rondo's own packages: it fills in what
// internal/kernel declares. The two types below are the same records under
// other names, so that their methods are no part of the public API.

import (
	"context"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

type innerLoop Loop

type innerTask Task

type innerList WaitList

func init() {
	kernel.Of = func(ctx context.Context) kernel.Loop {
		if s := scopeOf(ctx); s != nil {
			return (*innerLoop)(s.loop)
		}
		return nil
	}
	kernel.Table = &pane
	kernel.Loops = func() []kernel.Loop {
		loops.Lock()
		defer loops.Unlock()
		out := make([]kernel.Loop, len(loops.live))
		for i, l := range loops.live {
			out[i] = (*innerLoop)(l)
		}
		return out
	}
}

func (l *innerLoop) Driver() driver.Driver { return l.driver }
func (l *innerLoop) Inside() bool          { return (*Loop)(l).inside() }
func (l *innerLoop) Now() int64            { return l.now }
func (l *innerLoop) Hold(n int)            { (*Loop)(l).hold(n) }
func (l *innerLoop) Beside(fn func())      { beside(fn) }

func (l *innerLoop) Lend(n int) { l.helpers += n }

func (l *innerLoop) Entry(t any, user uintptr) { t.(*Task).more().entry = user }

func (l *innerLoop) Recovers() bool { return l.runner.Recover }

func (l *innerLoop) Post(fn func()) error { return (*Loop)(l).Post(fn) }

func (l *innerLoop) CallAt(instant int64, fn func()) kernel.Timer {
	return (*Loop)(l).callAt(instant, fn)
}

func (l *innerLoop) Recall(fn func()) (again func()) {
	h := &Handle{loop: (*Loop)(l)}
	return func() {
		h.fn = fn
		l.queue.push(entry{call: h})
	}
}

func (l *innerLoop) WaitList() kernel.WaitList { return new(innerList) }

func (l *innerLoop) Task() kernel.Task {
	if l.current == nil {
		return nil
	}
	return (*innerTask)(l.current)
}

func (t *innerTask) Scope() context.Context { return t.worker.inner }

func (t *innerTask) Spend(bytes int) {
	w := t.worker
	w.spent += operationCost + uint32(bytes)
	if w.spent >= allowance {
		(*Task)(t).yield()
	}
}

func (t *innerTask) Shield(body func(ctx context.Context) error) error {
	return Shield(t.worker.inner, body)
}

// Park is WaitList.Park, written out: its frame would be on the stack of each
// task that waits for a connection.
func (w *innerList) Park(ctx context.Context, why kernel.Reason) error {
	s, t, err := enter(ctx, "Park")
	if err != nil {
		return err
	}
	(*WaitList)(w).push(t)
	return t.park(s, ctx, Reason(why))
}

func (w *innerList) Name(of any) { w.Of = of }
func (w *innerList) Wake() bool  { return (*WaitList)(w).Wake() }
func (w *innerList) Len() int    { return (*WaitList)(w).Len() }
