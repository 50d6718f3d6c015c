package nats

import (
	"fmt"
	"strings"
	"testing"
)

// A freeWriter fails the test if a Meter is locked while something is written.
type freeWriter struct {
	strings.Builder
	t     *testing.T
	meter *Meter
}

func (w *freeWriter) Write(b []byte) (int, error) {
	if !w.meter.mu.TryLock() {
		w.t.Error("the Meter is locked during a Write")
		return w.Builder.Write(b)
	}
	w.meter.mu.Unlock()
	return w.Builder.Write(b)
}

// TestMeterOfMany: from 1,000 names on jobs are those of "other", and a slow reader holds up no
// job.
func TestMeterOfMany(t *testing.T) {
	meter := new(Meter)
	for i := range mostSeries + 5 {
		meter.count(fmt.Sprint("JOBS ", i), fateDone)
	}
	w := &freeWriter{t: t, meter: meter}
	if err := meter.WriteMetrics(w); err != nil {
		t.Fatal(err)
	}
	if text := w.String(); !strings.Contains(text, `rondo_nats_jobs_total{name="other",fate="done"} 5`+"\n") || strings.Contains(text, fmt.Sprint("JOBS ", mostSeries)) {
		t.Errorf("the jobs of other names are missing in\n%s", text)
	}
}
