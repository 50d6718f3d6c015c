package watchdog

import (
	"strings"
	"testing"
)

// TestAdvice: what is reported fits the line that the report names. What blocks inside a library
// is cured at the call of the library, and in a callback nothing may wait at all.
func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		state, calls string // the calls below the user's line, innermost first
		callback     bool
		want         string
	}{
		{"chan receive", "", false, "it is blocked on a channel; use rondo.Queue"},
		{"select, 2 minutes", "golang.org/x/time/rate.(*Limiter).wait golang.org/x/time/rate.(*Limiter).Wait", false,
			"it is in rate.Limiter.Wait, which is blocked on a channel; call that in Offload"},
		{"sync.WaitGroup.Wait", "sync.(*WaitGroup).Wait", false, "use rondo.Group"},
		{"sync.WaitGroup.Wait", "sync.(*WaitGroup).Wait golang.org/x/sync/singleflight.(*Group).Do", false,
			"it is in singleflight.Group.Do, which is blocked on a sync.WaitGroup; call that in Offload"},
		{"sync.Mutex.Lock", "sync.(*Mutex).lockSlow sync.(*Mutex).Lock", false, "use rondo.Mutex, or Offload"},
		{"sync.Mutex.Lock", "sync.(*Mutex).Lock sync.(*Once).doSlow sync.(*Once).Do", false, "it is in sync.Once.Do, which is blocked on a sync.Mutex"},
		{"select", "net/http.(*Transport).roundTrip net/http.(*Client).Do net/http.Get", false, "it is in http.Get, which is blocked on a channel; use package httptask"},
		{"IO wait", "internal/poll.(*FD).Accept net.(*TCPListener).Accept", false, "it is in a blocking call; use package socket"},
		{"IO wait", "net.(*conn).Read github.com/rondo-go/rondo/internal/fd.(*FD).Foreign github.com/rondo-go/rondo/socket.(*Conn).Read", false, "use it in tasks of that loop"},
		{"syscall", "syscall.read os.(*File).Read bufio.(*Scanner).Scan", false, "it is in bufio.Scanner.Scan, which is in a blocking call; call that in Offload"},
		{"sleep", "time.Sleep", false, "it is in time.Sleep; use rondo.Sleep"},
		{"sleep", "time.Sleep", true, "it is in time.Sleep; start a task with Go"},
		{"running", "strings.Repeat", false, "it is computing"},
		{"GC assist wait, 2 minutes", "runtime.gcParkAssist runtime.mallocgc", false, "it allocates faster than the garbage collector frees; allocate less"},
	} {
		if said := advice(c.state, strings.Fields(c.calls), c.callback, false); !strings.Contains(said, c.want) {
			t.Errorf("%s in %s: it says %q, want %q", c.state, c.calls, said, c.want)
		}
	}
}
