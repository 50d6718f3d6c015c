package inspect_test

import (
	"strings"
	"testing"

	"github.com/rondo-go/rondo/inspect"
)

// TestCharts: they show the last five minutes, a point for four seconds, and what came too soon
// after another sample is not kept.
func TestCharts(t *testing.T) {
	for _, looks := range []int{0, 1} {
		if c := inspect.Charts(looks, 1); c != nil {
			t.Errorf("of %d looks there are charts: %v", looks, c)
		}
	}
	charts := inspect.Charts(1000, 2)
	if len(charts) != 5 {
		t.Fatalf("%d charts", len(charts))
	}
	busy, lag, tasks := charts[0], charts[1], charts[3]
	if busy.Now != "25" || busy.Most != "25" || lag.Now != "1.5" || tasks.Now != "1998" || tasks.Most != "1998" {
		t.Errorf("busy %+v, lag %+v, tasks %+v", busy, lag, tasks)
	}
	points := strings.Fields(tasks.Points)
	if len(points) != 76 || points[75] != "300,2" || points[0] != "0,13" {
		t.Errorf("%d points: %v", len(points), points)
	}
}
