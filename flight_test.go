package rondo

import "testing"

// TestRecordBegins: a loop gets its record after a number of switches or a time, whichever comes
// first, and notes each mark from then on; without a record none.
func TestRecordBegins(t *testing.T) {
	const born = int64(1e15)
	for _, c := range []struct {
		switches uint64
		age      int64
		off      bool
		want     bool
	}{
		{recordAfterSwitches - 1, recordAfter - 1, false, false},
		{recordAfterSwitches, 0, false, true},
		{0, recordAfter, false, true},
		{recordAfterSwitches, recordAfter, true, false},
	} {
		l := &Loop{}
		l.flight.born, l.flight.off, l.stats.Switches = born, c.off, c.switches
		for range 2 {
			l.mark(born+c.age, 1)
		}
		if r := l.flight.record; (r != nil) != c.want || r != nil && r.Marked != 2 {
			t.Errorf("after %d switches and %d ns, off: %v: the loop has a record: %v", c.switches, c.age, c.off, r != nil)
		}
	}
}
