package socket_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// attached returns a Transport of p and the other end of its connection.
func attached(t testing.TB, ctx context.Context, p *socket.Protocol) (*socket.Transport, *socket.Conn) {
	t.Helper()
	a, b := pair(t, ctx)
	tr, err := p.Attach(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	tr.Value = &history{t: t}
	return tr, b
}

// TestProtocolWriteInTask: what a task writes arrives, also what the system does not take at once.
func TestProtocolWriteInTask(t *testing.T) {
	run(t, func(ctx context.Context) error {
		tr, peer := attached(t, ctx, &socket.Protocol{Data: func(tr *socket.Transport, b []byte) { tr.Write(b) }})
		got := make([]byte, 5_000_000)
		io.WriteString(peer, "x")
		if _, err := io.ReadFull(peer, got[:1]); err != nil {
			return err
		}
		big := bytes.Repeat([]byte("0123456789"), len(got)/10)
		if n, err := tr.Write(big); n != len(big) || err != nil {
			t.Errorf("Write: %d, %v", n, err)
		}
		if _, err := io.ReadFull(peer, got); err != nil || !bytes.Equal(got, big) {
			t.Errorf("the peer has read something else: %v", err)
		}
		return peer.Close()
	})
}

// TestProtocolCloseWrite: the connection is still read after CloseWrite, and
// the end of the peer ends it.
func TestProtocolCloseWrite(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var got []byte
		p := noted(t, &socket.Protocol{Data: func(_ *socket.Transport, b []byte) { got = append(got, b...) }})
		tr, peer := attached(t, ctx, p)
		big := bytes.Repeat([]byte("0123456789"), 500_000)
		tr.Write(big)
		tr.CloseWrite()
		if b, err := io.ReadAll(peer); !bytes.Equal(b, big) || err != nil {
			t.Errorf("%d bytes of %d, %v", len(b), len(big), err)
		}
		io.WriteString(peer, "still here")
		peer.Close()
		if err := until(ctx, tr.Value.(*history).lost); err != nil {
			return err
		}
		if string(got) != "still here" || tr.Value.(*history).err != nil {
			t.Errorf("%q, %v", got, tr.Value.(*history).err)
		}
		return nil
	})
}

// TestC184HalfClose: after an EOF that returned true the sending side is open.
func TestC184HalfClose(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var tr *socket.Transport
		p := noted(t, &socket.Protocol{EOF: func(*socket.Transport) bool { return true }})
		tr, peer := attached(t, ctx, p)
		io.WriteString(peer, "question")
		peer.CloseWrite()
		h := func() string {
			if tr.Value == nil {
				return ""
			}
			return string(tr.Value.(*history).calls)
		}
		if err := until(ctx, func() bool { return h() == "CDE" }); err != nil {
			return err
		}
		for range 3 {
			if _, err := tr.Write([]byte("answer")); err != nil {
				t.Error(err)
			}
			rondo.Yield(ctx)
		}
		tr.CloseWrite()
		tr.CloseWrite()
		if _, err := tr.Write([]byte("x")); !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), "CloseWrite") {
			t.Errorf("Write after CloseWrite: %v", err)
		}
		if got, err := io.ReadAll(peer); string(got) != "answeransweranswer" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		// Both sides have ended, so the connection has.
		return until(ctx, func() bool { return h() == "CDEL" && tr.Value.(*history).err == nil })
	})
}

// TestProtocolCloseFlushes: Close sends what is buffered; Abort drops it, also
// after Close.
func TestProtocolCloseFlushes(t *testing.T) {
	big := make([]byte, 8<<20)
	run(t, func(ctx context.Context) error {
		tr, peer := attached(t, ctx, noted(t, &socket.Protocol{}))
		tr.Write(big)
		tr.Close()
		tr.Close()
		if _, err := tr.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write after Close: %v", err)
		}
		if n, err := io.Copy(io.Discard, peer); n != int64(len(big)) || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		peer.Close()
		if err := until(ctx, tr.Value.(*history).lost); err != nil {
			return err
		}
		tr.Abort()

		tr, peer = attached(t, ctx, noted(t, &socket.Protocol{}))
		tr.Write(big)
		tr.Close()
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		tr.Abort()
		if err := until(ctx, func() bool { return tr.Value != nil && tr.Value.(*history).lost() }); err != nil {
			return err
		}
		if n := tr.Buffered(); n != 0 {
			t.Errorf("after Lost %d bytes are to be sent", n)
		}
		if n, _ := io.Copy(io.Discard, peer); n >= int64(len(big)) {
			t.Error("Abort sent everything")
		}
		return nil
	})
}

// TestProtocolCloseReadsNoMore: after Close there is no Data, also before Lost.
func TestProtocolCloseReadsNoMore(t *testing.T) {
	run(t, func(ctx context.Context) error {
		tr, peer := attached(t, ctx, noted(t, &socket.Protocol{}))
		tr.Write(make([]byte, 8<<20))
		tr.Close()
		for range 20 {
			io.WriteString(peer, "x")
			rondo.Sleep(ctx, 50*time.Microsecond) // so that the driver is polled
		}
		if h := tr.Value.(*history); string(h.calls) != "C" {
			t.Errorf("%s", h.calls)
		}
		tr.Abort()
		return peer.Close()
	})
}

// TestC182WaterMarks: PauseWriting is called once, by the Write that exceeds High, and
// ResumeWriting once when at most Low bytes are left, but not if the program has ended its side
// meanwhile: it can write no more.
func TestC182WaterMarks(t *testing.T) {
	for i, c := range []struct{ high, low, wantHigh, wantLow int }{
		{0, 0, 64 << 10, 16 << 10},
		{1000, 0, 1000, 250},
		{0, 1000, 4000, 1000},
		{3000, 2999, 3000, 2999},
		{1, 1, 1, 1},
	} {
		var calls []string
		buffered := 0
		p := &socket.Protocol{High: c.high, Low: c.low,
			PauseWriting: func(tr *socket.Transport) { calls = append(calls, "pause"); buffered = tr.Buffered() },
			ResumeWriting: func(tr *socket.Transport) {
				calls = append(calls, "resume")
				if tr.Buffered() > c.wantLow {
					t.Errorf("%v: resumed with %d bytes left", c, tr.Buffered())
				}
			},
		}
		run(t, func(ctx context.Context) error {
			tr, peer := attached(t, ctx, p)
			for tr.Buffered() == 0 {
				if _, err := tr.Write(make([]byte, 64<<10)); err != nil {
					return err
				}
			}
			// Fill up to the mark exactly: that is not above it yet.
			if n := c.wantHigh - tr.Buffered(); n > 0 {
				calls = nil
				tr.Write(make([]byte, n))
				if len(calls) != 0 {
					t.Errorf("%v: paused with %d bytes buffered", c, tr.Buffered())
				}
			}
			if n, err := tr.Write([]byte("x")); n != 1 || err != nil {
				t.Errorf("%v: the Write that pauses returns %d, %v", c, n, err)
			}
			if !slices.Equal(calls, []string{"pause"}) || buffered <= c.wantHigh {
				t.Errorf("%v: %q, with %d buffered", c, calls, buffered)
			}
			tr.Write(make([]byte, 10_000))
			if len(calls) != 1 {
				t.Errorf("%v: paused again: %q", c, calls)
			}
			if i == 0 {
				tr.Close()
			} else {
				tr.CloseWrite()
			}
			calls = append(calls, "closed")
			_, err := io.Copy(io.Discard, peer)
			return err
		})
		if !slices.Equal(calls, []string{"pause", "closed"}) {
			t.Errorf("%v: %q after the end", c, calls)
		}
		calls = nil
		run(t, func(ctx context.Context) error {
			tr, peer := attached(t, ctx, p)
			for len(calls) == 0 {
				if _, err := tr.Write(make([]byte, 64<<10)); err != nil {
					return err
				}
			}
			b := make([]byte, 64<<10)
			for len(calls) == 1 {
				if _, err := peer.Read(b); err != nil {
					return err
				}
			}
			tr.Abort()
			return nil
		})
		if !slices.Equal(calls, []string{"pause", "resume"}) {
			t.Errorf("%v: %q", c, calls)
		}
	}
}

// TestPauseWritingPanics: a panic of PauseWriting ends its connection. The Write that called it
// fails, and the task that writes goes on.
func TestPauseWritingPanics(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var lost, reported error
		tr, _ := attached(t, ctx, &socket.Protocol{
			PauseWriting: func(*socket.Transport) { panic("boom") },
			Lost:         func(_ *socket.Transport, err error) { lost = err },
			OnError:      func(err error) { reported = err },
		})
		var n int
		var err error
		for err == nil {
			n, err = tr.Write(make([]byte, 64<<10))
		}
		if p, ok := errors.AsType[*rondo.PanicError](err); n != 0 || !ok || p.Value != "boom" || reported != err {
			t.Errorf("Write returns %d, %v; OnError got %v", n, err, reported)
		}
		if err := until(ctx, func() bool { return lost != nil }); err != nil {
			return err
		}
		if lost != err {
			t.Errorf("Lost got %v, want %v", lost, err)
		}
		return nil
	})
}

// TestC183WriteAfterLoss: after the connection was lost each Write fails with
// the error that Lost got. In asyncio the data is dropped in silence.
func TestC183WriteAfterLoss(t *testing.T) {
	run(t, func(ctx context.Context) error {
		inside := false
		p := noted(t, &socket.Protocol{Lost: func(*socket.Transport, error) {
			if inside {
				t.Error("Lost was called inside Write")
			}
		}})
		tr, peer := attached(t, ctx, p)
		if err := peer.SetLinger(0); err != nil {
			return err
		}
		tr.PauseReading()
		if err := rondo.Sleep(ctx, 0); err != nil {
			return err
		}
		here, there := tr.LocalAddr().String(), peer.LocalAddr().String()
		peer.Close()
		var first error
		if err := until(ctx, func() bool {
			inside = true
			_, first = tr.Write([]byte("x"))
			inside = false
			return first != nil
		}); err != nil {
			return err
		}
		h := tr.Value.(*history)
		if err := until(ctx, h.lost); err != nil {
			return err
		}
		var named *net.OpError
		if h.err == nil || h.err != first || !errors.As(first, &named) {
			t.Errorf("Lost with %v, Write failed with %v", h.err, first)
		} else if runtime.GOOS == "linux" && !strings.Contains(first.Error(), here+"->"+there) { // others forget it after a reset
			t.Errorf("%v does not say that it is from %s to %s", first, here, there)
		}
		for range 6 {
			if n, err := tr.Write([]byte("x")); n != 0 || err != h.err {
				t.Errorf("Write after the loss: %d, %v", n, err)
			}
		}
		if tr.Buffered() != 0 {
			t.Error("something was kept")
		}
		return nil
	})
}

// TestProtocolPauseReading: a paused connection gets no callback, not even for
// its end, and loses nothing.
func TestProtocolPauseReading(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var got []byte
		p := noted(t, &socket.Protocol{Data: func(tr *socket.Transport, b []byte) {
			got = append(got, b...)
			tr.PauseReading()
			tr.PauseReading()
		}})
		tr, peer := attached(t, ctx, p)
		tr.PauseReading() // or the first byte may come before the first ResumeReading, which would undo the pause after it
		var want []byte
		for i := range 20 {
			want = append(want, byte(i))
			if _, err := peer.Write([]byte{byte(i)}); err != nil {
				return err
			}
			if i == 19 {
				peer.Close()
			}
			n := len(got)
			for range 5 {
				rondo.Yield(ctx)
			}
			if len(got) != n {
				t.Fatalf("%d bytes came while it was paused", len(got)-n)
			}
			tr.ResumeReading()
			tr.ResumeReading()
			if err := until(ctx, func() bool { return len(got) == i+1 }); err != nil {
				return err
			}
		}
		if tr.Value.(*history).lost() {
			t.Error("the end was heard of")
		}
		tr.ResumeReading()
		if !bytes.Equal(got, want) {
			t.Errorf("got %v", got)
		}
		return until(ctx, tr.Value.(*history).lost)
	})
}

// TestTransportElsewhere: using a Transport on another goroutine panics.
func TestTransportElsewhere(t *testing.T) {
	run(t, func(ctx context.Context) error {
		tr, _ := attached(t, ctx, &socket.Protocol{})
		raw, err := tr.SyscallConn()
		if err != nil {
			return err
		}
		for name, call := range map[string]func(){
			"Write": func() { tr.Write(nil) }, "Close": tr.Close, "Abort": tr.Abort, "CloseWrite": tr.CloseWrite,
			"PauseReading": tr.PauseReading, "ResumeReading": tr.ResumeReading,
			"Context": func() { tr.Context() }, "LocalAddr": func() { tr.LocalAddr() }, "RemoteAddr": func() { tr.RemoteAddr() },
			"SyscallConn": func() { _ = raw.Control(func(uintptr) {}) },
		} {
			said, _ := rondo.Offload(ctx, func(context.Context) (said any, _ error) {
				defer func() { said = recover() }()
				call()
				return
			})
			if want := "rondo: socket.Transport." + name + " from a goroutine that is not on the loop"; said != want {
				t.Errorf("%s: %v", name, said)
			}
		}
		return nil
	})
}
