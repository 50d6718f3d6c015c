//go:build linux

package goinspect

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNotShown: a process that /proc does not show is not said to be missing if
// it is there.
func TestNotShown(t *testing.T) {
	for answer, want := range map[unix.Errno]string{
		unix.ESRCH: "there is no process 7",
		unix.EPERM: "process 7 belongs to another user, and /proc hides it",
	} {
		if got := notShown(7, answer).Error(); !strings.Contains(got, want) {
			t.Errorf("after %v: %q; want %q", answer, got, want)
		}
	}
	if got := notShown(7, nil).Error(); !strings.Contains(got, "process 7 is not in /proc") {
		t.Errorf("of a process that may be signalled: %q", got)
	}
}
