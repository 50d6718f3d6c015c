package nats

import "testing"

// TestOutboxCounts: a message counts with its data, subject and reply, and no more when it was
// handed to the client: so requests alone fill the outbox too.
func TestOutboxCounts(t *testing.T) {
	var o outbox
	o.filled.L = &o.mu
	o.put(op{subject: "subject", reply: "reply"}, []byte("data"))
	if want := opSize + len("subject") + len("reply") + len("data"); o.size != want {
		t.Errorf("it counts for %d, want %d", o.size, want)
	}
	b, _ := o.take()
	if o.written(b); o.size != 0 {
		t.Errorf("%d are left", o.size)
	}
}
