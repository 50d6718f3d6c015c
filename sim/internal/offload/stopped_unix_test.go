//go:build unix

package offload

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// TestStopped: a function that has not returned for long because the whole process was stopped is
// not taken for one that waits for something.
func TestStopped(t *testing.T) {
	stop := func() {
		c := exec.Command("sh", "-c", fmt.Sprintf("sleep 0.4; kill -CONT %d", os.Getpid()))
		err := c.Start()
		if err == nil {
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			err = c.Wait()
		}
		if err != nil {
			t.Error(err)
		}
	}
	for range 3 {
		r := newRun(t, 1, 1e6)
		r.offload(&r.a, "1", newUser(), stop)
		r.a.Begins()
		r.is("1", "1", false)

		r = newRun(t, 1, 0)
		first := sync.OnceFunc(stop)
		r.offload(&r.a, "1", newUser(), first)
		r.offload(&r.b, "2", newUser(), first)
		r.wait()
		r.wait()
		r.is(r.begun(), r.begun(), false)
	}
}
