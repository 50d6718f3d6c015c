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

// TestSearchedRegions: only files that have code are searched, and the program's
// variables behind them are not taken for a file.
func TestSearchedRegions(t *testing.T) {
	maps := []byte(`00400000-00600000 r-xp 00000000 08:01 11 /bin/program
00600000-00800000 r--p 00200000 08:01 11 /bin/program
00800000-00810000 rw-p 00400000 08:01 11 /bin/program
00810000-00820000 rw-p 00000000 00:00 0
7f0000000000-7f0100000000 r--s 00000000 08:01 12 /var/lib/data base
7f0100000000-7f0100010000 rw-s 00000000 08:02 11 /var/lib/other
7f0200000000-7f0200010000 ---p 00000000 08:01 11 /bin/program
7f0300000000-7f0300010000 rw-s 00000000 00:05 13 /dev/zero
`)
	searched := func(all bool) (n int) {
		for _, r := range parseMaps(maps, all) {
			if r.File {
				n++
			}
		}
		return n
	}
	if n, all := searched(false), searched(true); n != 3 || all != 5 || len(parseMaps(maps, false)) != 6 {
		t.Errorf("%d regions are searched, %d of an emulator, of %d; want 3, 5, of 6", n, all, len(parseMaps(maps, false)))
	}
}
