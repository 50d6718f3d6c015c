package socket_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/peer"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestPipe: a Write returns when all of it has been read, in pieces of any
// size.
func TestPipe(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		a, b := socket.Pipe(ctx)
		written := false
		writer := rondo.Go(ctx, func(ctx context.Context) error {
			n, err := a.Write([]byte("abcde"))
			if n != 5 {
				t.Errorf("wrote %d", n)
			}
			written = true
			return err
		})
		for _, want := range []string{"ab", "cd", "e"} {
			if written {
				t.Errorf("Write returned before %q was read", want)
			}
			p := make([]byte, 2)
			n, err := b.Read(p)
			if string(p[:n]) != want || err != nil {
				t.Errorf("read %q, %v", p[:n], err)
			}
		}
		if err := writer.Wait(ctx); err != nil {
			t.Error(err)
		}
		if a.LocalAddr().Network() != "pipe" || b.RemoteAddr().String() != "pipe" {
			t.Error("addresses are not those of a pipe")
		}
	})
}

// TestPipeWriters: what several tasks write is not mixed.
func TestPipeWriters(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		a, b := socket.Pipe(ctx)
		counts := map[byte]int{}
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for id := range byte(4) {
				g.Go(func(ctx context.Context) error {
					for range 3 {
						if _, err := a.Write(bytes.Repeat([]byte{id}, 10)); err != nil {
							return err
						}
					}
					return nil
				})
			}
			for range 12 {
				frame := make([]byte, 10)
				for at := 0; at < len(frame); {
					n, err := b.Read(frame[at:min(at+3, len(frame))])
					if err != nil {
						return err
					}
					at += n
				}
				if !bytes.Equal(frame, bytes.Repeat(frame[:1], 10)) {
					t.Errorf("mixed: %v", frame)
				}
				counts[frame[0]]++
			}
			return nil
		})
		for id, n := range counts {
			if n != 3 {
				t.Errorf("writer %d: %d frames", id, n)
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
}

// TestPipeClose: the closed end fails with io.ErrClosedPipe, the other reads
// io.EOF; waits end.
func TestPipeClose(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		for _, local := range []bool{true, false} {
			a, b := socket.Pipe(ctx)
			reader := rondo.Go(ctx, func(ctx context.Context) error {
				_, err := a.Read(make([]byte, 1))
				return err
			})
			writer := rondo.Go(ctx, func(ctx context.Context) error {
				_, err := a.Write(make([]byte, 1))
				return err
			})
			waiting(ctx, "pipe read", 1)
			waiting(ctx, "pipe write", 1)
			want := io.EOF
			if local {
				want = io.ErrClosedPipe
				a.Close()
			} else {
				b.Close()
			}
			if err := reader.Wait(ctx); err != want {
				t.Errorf("Read: %v, want %v", err, want)
			}
			if err := writer.Wait(ctx); err != io.ErrClosedPipe {
				t.Errorf("Write: %v", err)
			}
			if err := a.SetDeadline(time.Time{}); err == nil {
				t.Error("SetDeadline of a closed pipe succeeded")
			}
		}
	})
}

// TestPipeDeadline: deadlines use the loop's clock and are exact.
func TestPipeDeadline(t *testing.T) {
	sim.Config{Exact: true}.Test(t, func(ctx context.Context) {
		a, b := socket.Pipe(ctx)
		start := rondo.Now(ctx)
		a.SetReadDeadline(start.Add(time.Hour))
		b.SetDeadline(start.Add(3 * time.Hour))
		n, err := a.Read(make([]byte, 1))
		timedOut(t, "Read", err)
		if waited := rondo.Now(ctx).Sub(start); n != 0 || waited != time.Hour {
			t.Errorf("Read read %d and took %v", n, waited)
		}
		n, err = b.Write(make([]byte, 1))
		timedOut(t, "Write", err)
		if waited := rondo.Now(ctx).Sub(start); n != 0 || waited != 3*time.Hour {
			t.Errorf("Write wrote %d and took %v", n, waited)
		}
	})
}

// TestPipeCancel: a cancelled Write returns how much of it was read, and the
// pipe stays usable.
func TestPipeCancel(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		a, b := socket.Pipe(ctx)
		writer := rondo.Go(ctx, func(ctx context.Context) error {
			n, err := a.Write([]byte("abc"))
			if n != 2 {
				t.Errorf("wrote %d", n)
			}
			return err
		})
		if n, err := b.Read(make([]byte, 2)); n != 2 || err != nil {
			t.Errorf("read %d, %v", n, err)
		}
		writer.Cancel(nil)
		if err := writer.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Write: %v", err)
		}
		again := rondo.Go(ctx, func(ctx context.Context) error {
			_, err := a.Write([]byte("x"))
			return err
		})
		p := make([]byte, 1)
		if _, err := b.Read(p); err != nil || string(p) != "x" {
			t.Errorf("read %q, %v", p, err)
		}
		if err := again.Wait(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestPipeTie: all orders of a Write, a Read and the cancellation of the reader.
// The byte is read by exactly one of two readers, and never lost.
func TestPipeTie(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		a, b := socket.Pipe(ctx)
		got := 0
		read := func(ctx context.Context) error {
			n, err := b.Read(make([]byte, 1))
			got += n
			if n > 0 && err != nil {
				t.Errorf("both data and %v", err)
			}
			return err
		}
		first := rondo.Go(ctx, read)
		writer := rondo.Go(ctx, func(ctx context.Context) error {
			_, err := a.Write([]byte("x"))
			return err
		})
		rondo.Yield(ctx)
		woken := false
		for _, info := range rondo.Tasks(ctx) {
			if info.ID == first.ID() && info.State == "ready" {
				woken = true
			}
		}
		first.Cancel(nil)
		if err := first.Wait(ctx); err != nil {
			if woken {
				t.Errorf("the reader was woken by data and returned %v", err)
			}
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if err := read(ctx); err != nil {
				t.Error(err)
			}
		}
		if err := writer.Wait(ctx); err != nil || got != 1 {
			t.Errorf("%d bytes came, Write: %v", got, err)
		}
	})
}

// TestPipeForeign: a goroutine at the other end.
func TestPipeForeign(t *testing.T) {
	var left net.Conn
	run(t, func(ctx context.Context) error {
		a, b := socket.Pipe(ctx)
		left = a
		done := rondo.Async(ctx, func(ctx context.Context) (string, error) {
			return rondo.Offload(ctx, func(context.Context) (string, error) {
				got, err := io.ReadAll(b)
				return string(got), err
			})
		})
		for _, part := range []string{"one ", "two"} {
			if _, err := io.WriteString(a, part); err != nil {
				return err
			}
		}
		a.Close()
		got, err := done.Wait(ctx)
		if got != "one two" {
			t.Errorf("read %q", got)
		}
		return err
	})
	if _, err := left.Read(make([]byte, 1)); err != io.ErrClosedPipe {
		t.Errorf("Read after the loop's end: %v", err)
	}
}

// TestPipeEnded: package httptask sees that the client of a handler has left: a Read would find the
// end, and no data before it.
func TestPipeEnded(t *testing.T) {
	run(t, func(ctx context.Context) error {
		closed, left := socket.Pipe(ctx)
		sends, idle := socket.Pipe(ctx)
		writer := rondo.Go(ctx, func(context.Context) error { _, err := sends.Write([]byte("x")); return err })
		waiting(ctx, "pipe write", 1)
		closed.Close()
		for name, c := range map[string]struct {
			end  net.Conn
			want bool
		}{"the peer is closed": {left, true}, "it is closed": {closed, true}, "the peer has sent something": {idle, false}, "both are open": {sends, false}} {
			if got := peer.Ended(c.end); got != c.want {
				t.Errorf("%s: it has ended: %t", name, got)
			}
		}
		idle.Close()
		if err := writer.Wait(ctx); err != io.ErrClosedPipe {
			t.Errorf("Write: %v", err)
		}
		return nil
	})
}
