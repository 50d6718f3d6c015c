package picture

import (
	"fmt"
	"time"

	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// Step says in words what event i of the run was.
func (a *Account) Step(i int) string {
	if i >= len(a.trace.Events) {
		return "the run has ended"
	}
	e := &a.trace.Events[i]
	at := time.Duration(e.Now - moment.Origin)
	if e.Kind == record.Jumped {
		return fmt.Sprintf("the clock jumps to %v", at)
	}
	return fmt.Sprintf("after %v %s", at, a.step(e))
}

func (a *Account) step(e *record.Event) string {
	who, host, to := a.name(e.Who), a.host(e.Who>>32), a.host(e.Who&0xffffffff)
	if a.hosts == nil {
		host = "the program"
	}
	switch e.Kind {
	case record.Chosen:
		return fmt.Sprintf("%s runs, as one of %d that are ready", who, e.N)
	case record.Passed:
		return who + " is ready but does not run"
	case record.Started:
		return who + " starts"
	case record.Stepped, record.Called:
		return who + " runs"
	case record.Parked:
		return who + " waits for " + e.What
	case record.Woken:
		return "the wait of " + who + " ends"
	case record.Ended:
		return who + " ends"
	case record.Drew:
		return fmt.Sprintf("Choose returns %d to %s", e.N, who)
	case record.Sent:
		return host + " sends " + message(e, "to "+to)
	case record.Arrived:
		return to + " gets " + message(e, "from "+host)
	case record.Wrote:
		return fmt.Sprintf("%s writes %d bytes to %s: %s", host, e.N, e.What, e.Data)
	case record.Put:
		return host + " hands over " + e.Data
	case record.Showed:
		return fmt.Sprintf("%s has %s = %s", host, e.What, e.Data)
	case record.Asked:
		return who + " asks " + e.Data
	case record.Answered:
		return who + " gets " + e.Data
	}
	return host + ": " + e.What // Hosted, Struck
}
