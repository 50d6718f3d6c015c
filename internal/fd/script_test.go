package fd_test

import (
	"context"
	"syscall"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A script is a socket of the driver that answers as a test says, and with EAGAIN when it
// has no answer left. It reports when the test calls report.
type script struct {
	driver.Socket
	in, out []answer // of Receive, and of Send
	asked   []int    // the length of each Receive and Send
	sinks   map[driver.Events]driver.Sink
	pieces  bool // a short Receive may leave data
	input   bool // there is something to read
	atEnd   bool // and it is the end of the stream
	closed  bool

	accepted []*script
}

type answer struct {
	n     int
	errno syscall.Errno
}

// scripted returns a socket and its FD.
func scripted(ctx context.Context) (*script, *fd.FD) {
	s := &script{sinks: make(map[driver.Events]driver.Sink)}
	return s, s.open(ctx)
}

func (s *script) open(ctx context.Context) *fd.FD { return fd.NewVirtual(kernel.Of(ctx), s) }

func next(list *[]answer) (int, syscall.Errno) {
	if len(*list) == 0 {
		return 0, syscall.EAGAIN
	}
	a := (*list)[0]
	*list = (*list)[1:]
	return a.n, a.errno
}

func (s *script) Receive(p []byte) (int, driver.Peer, syscall.Errno) {
	s.asked = append(s.asked, len(p))
	n, errno := next(&s.in)
	return n, driver.Peer{}, errno
}

// Accept returns connections without end.
func (s *script) Accept() (driver.Socket, driver.Peer, syscall.Errno) {
	c := new(script)
	s.accepted = append(s.accepted, c)
	return c, driver.Peer{}, 0
}

func (s *script) Send(p []byte, _ driver.Peer) (int, syscall.Errno) {
	s.asked = append(s.asked, len(p))
	return next(&s.out)
}

func (s *script) Arm(want driver.Events, sink driver.Sink) { s.sinks[want] = sink }

func (s *script) Disarm(which driver.Events) {
	for want := range s.sinks {
		if which&want != 0 {
			delete(s.sinks, want)
		}
	}
}

// Ready is about the input, and with HangUp about its end.
func (s *script) Ready(want driver.Events) bool {
	if want == driver.HangUp {
		return s.atEnd
	}
	return s.input
}

func (s *script) Ended() bool { return s.atEnd }
func (s *script) Short() bool { return !s.pieces }
func (s *script) Close()      { s.closed = true }

// report is a report of the driver to those who have asked for that direction.
func (s *script) report(direction, more driver.Events) {
	if sink := s.sinks[direction]; sink != nil {
		sink.Ready(direction | more)
	}
}

// reading starts a task that reads up to n bytes, and lets it run until it waits.
func reading(ctx context.Context, f *fd.FD, n int) *rondo.Future[int] {
	return started(ctx, func() (int, error) { return f.Read(make([]byte, n)) })
}

// writing starts a task that writes n bytes, and lets it run until it waits.
func writing(ctx context.Context, f *fd.FD, n int) *rondo.Future[int] {
	return started(ctx, func() (int, error) { return f.Write(make([]byte, n)) })
}

// started starts a task that calls op, and lets it run until it waits or has ended, however
// often it gives others their turn before.
func started(ctx context.Context, op func() (int, error)) *rondo.Future[int] {
	var t *rondo.Task
	result := rondo.Async(ctx, func(ctx context.Context) (int, error) {
		t = rondo.Current(ctx)
		return op()
	})
	for rondo.Yield(ctx) == nil && !result.Done() && (t == nil || t.Info().Waiting == "") {
	}
	return result
}

// beside runs op on another goroutine. Meanwhile the loop stands still, so it has not heard of
// it yet when beside returns.
func beside(op func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		op()
	}()
	<-done
}

// A bell is a Watcher that counts.
type bell struct{ rung int }

func (b *bell) Ready() { b.rung++ }
