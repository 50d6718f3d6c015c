package peer

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestEndsWithTheProcess kills a process that has started a peer: the peer ends too.
func TestEndsWithTheProcess(t *testing.T) {
	if os.Getenv("RONDO_TEST_OWNER") != "" {
		fmt.Println(Start(t, exec.Command("sleep", "60")).cmd.Process.Pid)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	owner := exec.Command(os.Args[0], "-test.run=^TestEndsWithTheProcess$")
	owner.Env = append(os.Environ(), "RONDO_TEST_OWNER=1")
	out, _ := owner.Output() // the error says that it was killed
	var pid int
	if _, err := fmt.Sscan(string(out), &pid); err != nil {
		t.Fatalf("it wrote %q: %v", out, err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return // it has ended, and somebody has waited for it
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for n := -1; n < 0; {
		if n, err = unix.Poll(ended, 30_000); n < 0 && err != unix.EINTR {
			t.Fatal(err)
		}
	}
	if ended[0].Revents == 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		t.Error("the peer goes on")
	}
}
