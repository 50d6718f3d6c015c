// Package ctxwatch watches contexts for a simulated loop. Package context calls back
// on a goroutine of its own when a context is cancelled, and when that happens cannot
// be repeated. So such a loop looks at the contexts itself, once a turn.
package ctxwatch

import (
	"context"
	"slices"
)

// A Set has the contexts that a loop watches. The zero value is empty.
type Set struct{ all []*watch }

// A watch is a context, and what to do when it is cancelled.
type watch struct {
	ctx context.Context
	fn  func() // nil once it is due
}

// Add watches ctx, until stop is called: it reports whether that was before fn was
// due.
func (s *Set) Add(ctx context.Context, fn func()) (stop func() bool) {
	w := &watch{ctx, fn}
	s.all = append(s.all, w)
	return func() bool {
		s.all = slices.DeleteFunc(s.all, func(other *watch) bool { return other == w })
		return w.fn != nil
	}
}

// Len returns how many contexts are watched.
func (s *Set) Len() int { return len(s.all) }

// Look calls due with the function of each context that was cancelled since the last
// Look.
func (s *Set) Look(due func(fn func())) {
	for _, w := range s.all {
		if fn := w.fn; fn != nil && w.ctx.Err() != nil {
			w.fn = nil
			due(fn)
		}
	}
}
