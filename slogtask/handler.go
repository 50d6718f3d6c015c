// Package slogtask has a handler for log/slog that says which task a line is from.
//
//	log := slog.New(slogtask.NewHandler(slog.NewTextHandler(os.Stderr, nil)))
//	log.InfoContext(ctx, "served", "bytes", n)
//	// level=INFO msg=served bytes=512 loop=echo task="conn 10.0.0.7:4242" task_id=17
package slogtask

import (
	"context"
	"log/slog"
	"slices"

	"github.com/rondo-go/rondo/internal/kernel"
)

// A handler adds to each record what it is told by its ctx.
type handler struct {
	below slog.Handler
	more  []func(ctx context.Context) []slog.Attr
	// With WithGroup what follows is in a group, and the task is not. So from the first
	// group on, what was asked for is done anew for each record, after the task.
	root  slog.Handler
	steps []func(slog.Handler) slog.Handler // nil before the first group
}

// NewHandler returns a Handler that hands records to h with three attributes more, if
// the ctx of the record belongs to a loop: loop, the loop's name; task, the name of the
// task; and task_id, its number. They stand outside of all groups.
//
// On the loop the task is the one that runs. On any other goroutine, such as that of an
// Offload, and in a callback, it is the one that ctx comes from; a goroutine is told its
// number and not its name, because the loop may be changing that.
//
// In a simulation of package sim a line that is written on the loop has the simulated time,
// which on a host of a cluster is that of the host's clock, and loop is the name of the host.
//
// Each function of more may return further attributes for the ctx of a record, also without a loop,
// such as the id of a job or of a trace: nats.LogAttrs and oteltask.LogAttrs do. A panic in one is
// that of the call that logs.
//
// The Handler may be used by any goroutine if h and more may. It never suspends, but what h
// writes may block.
func NewHandler(h slog.Handler, more ...func(ctx context.Context) []slog.Attr) slog.Handler {
	if h == nil {
		panic("rondo: slogtask.NewHandler with a nil Handler")
	}
	for _, f := range more {
		if f == nil {
			panic("rondo: slogtask.NewHandler with a nil function")
		}
	}
	return &handler{below: h, more: more}
}

func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.below.Enabled(ctx, l) }

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	var attrs []slog.Attr
	if t, ok := kernel.TaskOf(ctx); ok {
		if l := kernel.Of(ctx); l.Inside() && l.Driver().Simulation() != nil && !r.Time.IsZero() {
			r.Time = l.Driver().Time(l.Driver().Now())
		}
		attrs = []slog.Attr{slog.String("loop", t.Loop), slog.String("task", t.Name), slog.Uint64("task_id", t.ID)}
	}
	for _, f := range h.more {
		attrs = append(attrs, f(ctx)...)
	}
	if len(attrs) == 0 {
		return h.below.Handle(ctx, r)
	}
	if h.steps == nil {
		r = r.Clone()
		r.AddAttrs(attrs...)
		return h.below.Handle(ctx, r)
	}
	below := h.root.WithAttrs(attrs)
	for _, step := range h.steps {
		below = step(below)
	}
	return below.Handle(ctx, r)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	return h.with(func(below slog.Handler) slog.Handler { return below.WithAttrs(attrs) }, h.steps != nil)
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.with(func(below slog.Handler) slog.Handler { return below.WithGroup(name) }, true)
}

// with is h after one step more, which counts among those that are done anew if grouped
// is true.
func (h *handler) with(step func(slog.Handler) slog.Handler, grouped bool) slog.Handler {
	next := &handler{below: step(h.below), more: h.more, root: h.root, steps: h.steps}
	if grouped {
		if h.steps == nil {
			next.root = h.below
		}
		next.steps = append(slices.Clip(h.steps), step)
	}
	return next
}
