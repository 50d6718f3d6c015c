package fd_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
)

// TestReadAsks: a Read asks the driver only if there may be something, and for a bounded piece.
func TestReadAsks(t *testing.T) {
	const piece = 1 << 20
	for name, c := range map[string]struct {
		pieces bool
		in     []answer
		report driver.Events // before the second Read
		size   int           // of each Read
		asked  []int         // by both
		done   bool          // the second Read is
	}{
		"all is read":              {in: []answer{{n: 1}}, size: 2, asked: []int{2}},
		"the buffer is full":       {in: []answer{{n: 2}}, size: 2, asked: []int{2, 2}},
		"a short read may be cut":  {pieces: true, in: []answer{{n: 1}}, size: 2, asked: []int{2, 2}},
		"more has come":            {in: []answer{{n: 1}, {n: 1}}, report: driver.Readable, size: 2, asked: []int{2, 2}, done: true},
		"more has come, urgent":    {in: []answer{{n: 1}, {n: 1}}, report: driver.Urgent, size: 2, asked: []int{2, 2}, done: true},
		"the stream has ended":     {in: []answer{{n: 0}, {n: 0}}, size: 2, asked: []int{2, 2}, done: true},
		"the buffer is very large": {in: []answer{{n: piece}, {n: 1}}, size: 3 * piece, asked: []int{piece, piece}, done: true},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(ctx context.Context) error {
				s := &script{sinks: make(map[driver.Events]driver.Sink), pieces: c.pieces}
				f := s.open(ctx)
				defer f.Close()
				waits := reading(ctx, f, 1)
				s.in = []answer{{n: 1}}
				s.report(driver.Readable, 0)
				if _, err := waits.Wait(ctx); err != nil {
					return err
				}
				s.in, s.asked = c.in, nil
				first := reading(ctx, f, c.size)
				if c.report != 0 {
					s.sinks[driver.Readable].Ready(c.report)
				}
				second := reading(ctx, f, c.size)
				if !slices.Equal(s.asked, c.asked) || !first.Done() || second.Done() != c.done {
					t.Errorf("asked for %v, want %v; done: %v and %v", s.asked, c.asked, first.Done(), second.Done())
				}
				return nil
			})
		})
	}
}

// A packed address is kept in a form that only this program can read.
type packed struct{ net.Addr }

func (packed) String() string     { return "packed" }
func (p packed) Unpack() net.Addr { return p.Addr }

// TestPeerShown: a task that waits shows the peer, in a form that other programs can read, also if
// another has waited before the peer was known.
func TestPeerShown(t *testing.T) {
	run(t, func(ctx context.Context) error {
		peer := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}
		for _, kept := range []net.Addr{peer, packed{peer}} {
			s, f := scripted(ctx)
			if kept == peer {
				waits := reading(ctx, f, 1)
				s.in = []answer{{n: 1}}
				s.report(driver.Readable, 0)
				if _, err := waits.Wait(ctx); err != nil {
					return err
				}
			}
			f.Connected(kept)
			reading(ctx, f, 1)
			writing(ctx, f, 1)
			shown := make(map[string]string)
			for _, task := range rondo.Tasks(ctx) {
				shown[task.Waiting] = task.Of
			}
			if shown["read"] != peer.String() || shown["write"] != peer.String() {
				t.Errorf("%T: tasks wait for %v", kept, shown)
			}
			if err := f.Close(); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestTryWrite: nothing is written past the deadline, while there is no room, or after Close.
func TestTryWrite(t *testing.T) {
	run(t, func(ctx context.Context) error {
		s, f := scripted(ctx)
		try := func(want int, when string) {
			t.Helper()
			if n := f.TryWrite(make([]byte, 3)); n != want {
				t.Errorf("%s, %d bytes were written, want %d", when, n, want)
			}
		}
		s.out = []answer{{n: 3}, {errno: syscall.EINTR}, {n: 2}}
		err := f.SetDeadline(driver.Writable, time.Unix(1, 0))
		try(0, "past the deadline")
		err = errors.Join(err, f.SetDeadline(driver.Writable, time.Time{}))
		try(3, "with room")
		try(2, "after an interruption")
		try(0, "without room")
		s.out = []answer{{n: 3}}
		err = errors.Join(err, f.Close())
		try(0, "after Close")
		return err
	})
}
