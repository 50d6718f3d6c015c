//go:build !rondo_portable

package socket_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestHookKeepsDescriptor: a hook of a Dialer keeps a duplicate of the descriptor. When the
// connection is closed the loop gets no more reports of it.
func TestHookKeepsDescriptor(t *testing.T) {
	run(t, func(ctx context.Context) error {
		kept := -1
		keep := func(_, _ string, c syscall.RawConn) (failed error) {
			return errors.Join(c.Control(func(sys uintptr) { kept, failed = syscall.Dup(int(sys)) }), failed)
		}
		for name, d := range map[string]*socket.Dialer{
			"Control": {Control: keep},
			"ControlContext": {ControlContext: func(_ context.Context, network, address string, c syscall.RawConn) error {
				return keep(network, address, c)
			}},
		} {
			l := listen(t, ctx)
			c, err := d.DialContext(ctx, "tcp", l.Addr().String())
			if err != nil {
				return err
			}
			reader := rondo.Go(ctx, func(context.Context) error { _, err := c.Read(make([]byte, 1)); return err })
			waiting(ctx, "read", 1)
			if watches(t, kept) == 0 {
				t.Errorf("%s: nothing watches an open connection", name)
			}
			reader.Cancel(nil)
			_ = reader.Wait(ctx)
			if err := c.Close(); err != nil {
				return err
			}
			if n := watches(t, kept); n != 0 {
				t.Errorf("%s: a closed connection is watched %d times", name, n)
			}
			if err := syscall.Close(kept); err != nil {
				return err
			}
		}
		return nil
	})
}

// watches returns in how many epolls of the process the file of a descriptor is.
func watches(t *testing.T, sys int) (n int) {
	t.Helper()
	var s syscall.Stat_t
	if err := syscall.Fstat(sys, &s); err != nil {
		t.Fatal(err)
	}
	infos, err := os.ReadDir("/proc/self/fdinfo")
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		text, _ := os.ReadFile("/proc/self/fdinfo/" + info.Name())
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "tfd:") && strings.Contains(line, fmt.Sprintf(" ino:%x ", s.Ino)) {
				n++
			}
		}
	}
	return n
}
