//go:build linux && !rondo_portable

package fd

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSameFile: a duplicate is the same open file, another file is not. Where
// the inode decides alone, files of which it says too little are never the same.
func TestSameFile(t *testing.T) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	s, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	e, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	own := []int{p[0], p[1], s[0], s[1], e}
	for i, a := range own {
		double, err := unix.Dup(a)
		if err != nil {
			t.Fatal(err)
		}
		for j, b := range own {
			if sameInode(double, b) != (i == j && a != e) {
				t.Errorf("sameInode of %d's duplicate and %d", i, j)
			}
			if sameFile(double, b) && i != j {
				t.Errorf("sameFile of %d's duplicate and %d", i, j)
			}
		}
		pid := uintptr(unix.Getpid())
		_, _, forbidden := unix.RawSyscall6(unix.SYS_KCMP, pid, pid, 0, uintptr(a), uintptr(double), 0)
		if !sameFile(double, a) && (a != e || forbidden == 0) {
			t.Errorf("sameFile does not recognise the duplicate of %d", i)
		}
		unix.Close(double)
	}
	for _, a := range own {
		unix.Close(a)
	}
}

// TestUnixNames: the longest path ends with a zero, the longest abstract name need not.
func TestUnixNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"":                             false,
		"x":                            true,
		strings.Repeat("x", 107):       true,
		strings.Repeat("x", 108):       false,
		strings.Repeat("x", 109):       false,
		"@" + strings.Repeat("x", 107): true,
		"@" + strings.Repeat("x", 108): false,
	} {
		var sa unix.RawSockaddrAny
		if _, errno := saUnix(&sa, name); (errno == 0) != ok {
			t.Errorf("a name of %d bytes: %v", len(name), errno)
		}
	}
}
