package socket

import (
	"errors"
	"net"
	"os"
	"testing"
)

// TestTimedOutCopies: the error that a hook of the program has returned is not changed, which
// several dials may have at once.
func TestTimedOutCopies(t *testing.T) {
	own := errors.New("own")
	e := &net.OpError{Op: "dial", Net: "tcp", Err: own}
	if err := timedOut(e); !errors.Is(err, os.ErrDeadlineExceeded) || e.Err != own {
		t.Errorf("it is %v, and the program's has become %v", err, e.Err)
	}
}
