package conformance

// Expectations of users of trio's instruments.

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestC231TracerPanics: a Tracer that panics is reported to OnError once and not
// called again. The run goes on.
func TestC231TracerPanics(t *testing.T) {
	calls := 0
	crash := func() { calls++; panic("broken hook") }
	for name, tr := range map[string]*rondo.Tracer{
		"Started": {Started: func(*rondo.Task, time.Time) { crash() }},
		"Stepped": {Stepped: func(*rondo.Task, time.Time) { crash() }},
		"Parked":  {Parked: func(*rondo.Task, rondo.Reason, time.Time) { crash() }},
		"Woken":   {Woken: func(_, _ *rondo.Task, _ time.Time) { crash() }},
		"Ended":   {Ended: func(*rondo.Task, error, time.Time) { crash() }},
		"Called":  {Called: func(_, _ time.Time) { crash() }},
	} {
		calls = 0
		var reports []error
		r := rondo.Runner{Tracer: tr, OnError: func(about rondo.TaskInfo, err error) { reports = append(reports, err) }}
		steps := 0
		err := r.Run(t.Context(), func(ctx context.Context) error {
			for range 3 {
				rondo.LoopOf(ctx).CallSoon(func() {})
				if err := rondo.Sleep(ctx, time.Microsecond); err != nil {
					return err
				}
				if err := rondo.Go(ctx, rondo.Check).Wait(ctx); err != nil {
					return err
				}
				steps++
			}
			return nil
		})
		if err != nil || steps != 3 || calls != 1 {
			t.Errorf("%s: Run returned %v after %d steps, the hook was called %d times", name, err, steps, calls)
		}
		var p *rondo.PanicError
		if len(reports) != 1 || !errors.As(reports[0], &p) || p.Value != "broken hook" || !strings.Contains(string(p.Stack), "tracer_test.go") {
			t.Errorf("%s: OnError got %v", name, reports)
		}
	}
}
