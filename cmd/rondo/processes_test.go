package main

import "testing"

// TestRefusal: what is said of processes that may not be read names the cure, which for
// root is another one.
func TestRefusal(t *testing.T) {
	for _, c := range []struct {
		n, user int
		want    string
	}{
		{1, 1000, "1 process may not be read: run as root to see all."},
		{1200, 1000, "1,200 processes may not be read: run as root to see all."},
		{1, 0, "1 process may not be read: root needs CAP_SYS_PTRACE, also in the user namespace of the process."},
	} {
		if got := refusal(c.n, c.user); got != c.want {
			t.Errorf("refusal(%d, %d) = %q, want %q", c.n, c.user, got, c.want)
		}
	}
}
