package httptask

import "testing"

// TestCloseNotifyOnce: the channel gets one value, also if it is asked for when the client has gone
// and the loop has not passed that on yet.
func TestCloseNotifyOnce(t *testing.T) {
	w := &reply{n: new(connection)}
	w.n.left.Store(true)
	gone := w.CloseNotify()
	w.notify() // waits for ever if the channel gets a second value
	if !<-gone {
		t.Error("the channel has no value")
	}
	if w.notify(); len(gone) > 0 {
		t.Error("the channel has two values")
	}
}
