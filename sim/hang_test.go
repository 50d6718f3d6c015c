package sim

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/search"
)

// TestNothingComes: a run for which nothing comes from outside is told so after a while, and has as
// long again to end. If it does not, it is reported as one that hangs.
func TestNothingComes(t *testing.T) {
	const looks = time.Minute / lookEach * lookEach
	for _, ends := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newLoopWorld(&attempt{Run: newSeries(t).NewRun(choice.New(1))})
			w.idle.Store(true)
			ended, start := make(chan search.Outcome, 1), time.Now()
			go func() {
				<-w.giveUp
				if d := time.Since(start); d != looks {
					t.Errorf("it was told after %v, want %v", d, looks)
				}
				if ends {
					<-time.After(looks / 2)
					ended <- search.Outcome{Err: errNothingCame}
				}
			}()
			switch o := w.wait(ended, &w.inside); {
			case ends && o != search.Outcome{Err: errNothingCame}:
				t.Errorf("it has ended, and the outcome is %+v", o)
			case !ends && (!strings.HasPrefix(o.Stuck, "hang: the loop has made no progress for ") || time.Since(start) != 2*looks):
				t.Errorf("after %v: %+v", time.Since(start), o)
			}
		})
	}
}
