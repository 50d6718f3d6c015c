package rondo

import (
	"context"
	"errors"

	"github.com/rondo-go/rondo/internal/nocopy"
)

// ErrBrokenBarrier says that a Barrier was broken by Abort, or reset while tasks waited at it.
var ErrBrokenBarrier = errors.New("rondo: broken barrier")

// A Barrier holds tasks up until there are n of them, and lets these go on together. It is
// ready for the next round at once: a task that calls Wait while they are being released
// belongs to the next round. Make one with NewBarrier; it is for the tasks of one loop.
type Barrier struct {
	_ nocopy.Field

	// Name identifies the Barrier in rondo tree and in reports.
	Name string

	n      int
	broken bool
	now    *barrierRound
}

// A barrierRound is one round of a Barrier. Once the Barrier has a new one, the tasks of the
// old one only return from Wait.
type barrierRound struct {
	waiters WaitList
	passed  int
	broken  bool // by Abort or Reset
}

// NewBarrier makes a Barrier for n tasks. It panics if n is less than 1.
func NewBarrier(n int) *Barrier {
	if n < 1 {
		panic("rondo: NewBarrier for less than 1 task")
	}
	return &Barrier{n: n, now: new(barrierRound)}
}

// Wait waits until n tasks have called it, and returns an index from 0 to n-1, a different one
// in each task. The task that comes last gets n-1 and waits for none of the others; of those that
// waited, the one that goes on first gets 0. If ctx is cancelled first Wait returns the cause, and
// the task does not count. It returns ErrBrokenBarrier if the Barrier is broken, or if Abort or
// Reset is called meanwhile. With an error the index is -1.
func (b *Barrier) Wait(ctx context.Context) (index int, err error) {
	b.mustBeMade("Barrier.Wait")
	check := Check
	if b.full() {
		check = Checkpoint
	}
	if err := check(ctx); err != nil {
		return -1, err
	}
	if b.broken {
		return -1, ErrBrokenBarrier
	}
	r := b.now
	if b.full() {
		b.now = new(barrierRound)
		r.waiters.WakeAll()
		return b.n - 1, nil
	}
	r.waiters.Of = &b.Name
	if err := r.waiters.Park(ctx, Reason{What: "barrier"}); err != nil {
		return -1, err
	}
	if r.broken {
		return -1, ErrBrokenBarrier
	}
	r.passed++
	return r.passed - 1, nil
}

// full reports whether only one task is missing.
func (b *Barrier) full() bool { return b.now.waiters.Len()+1 == b.n }

// Abort breaks the Barrier: every Wait fails with ErrBrokenBarrier until Reset, including the
// Waits in progress. Tasks that were released before are not affected. It never suspends.
func (b *Barrier) Abort() {
	b.mustBeMade("Barrier.Abort")
	b.breakRound()
	b.broken = true
}

// Reset makes the Barrier like new. Tasks that wait get ErrBrokenBarrier. It never suspends.
func (b *Barrier) Reset() {
	b.mustBeMade("Barrier.Reset")
	b.breakRound()
	b.broken = false
}

// mustBeMade panics for a zero Barrier, which NewBarrier has not made.
func (b *Barrier) mustBeMade(call string) {
	if b.now == nil {
		panic("rondo: " + call + " of a zero Barrier; make it with NewBarrier")
	}
}

func (b *Barrier) breakRound() {
	r := b.now
	b.now = new(barrierRound)
	r.broken = true
	r.waiters.WakeAll()
}
