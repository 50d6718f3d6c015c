package socket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// protocol serves p while body runs, and then ends it by closing the listener.
func protocol(t testing.TB, ctx context.Context, p *socket.Protocol, body func(ctx context.Context, addr string) error) error {
	t.Helper()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		l, err := socket.Listen(g, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		g.Go(func(ctx context.Context) error {
			if err := p.Serve(ctx, l); !errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("Serve returned %w", err)
			}
			return nil
		})
		defer l.Close()
		return body(g, l.Addr().String())
	})
}

// attached gives a Transport of p and the other end of its connection.
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

// until yields until cond holds.
func until(ctx context.Context, cond func() bool) error {
	for !cond() {
		if err := rondo.Sleep(ctx, 50*time.Microsecond); err != nil {
			return err
		}
	}
	return nil
}

// A history notes the callbacks of one connection as letters, and holds their
// law: Connected, Data, EOF, Lost.
type history struct {
	t     testing.TB
	calls []byte
	err   error
}

func (h *history) note(call byte) {
	order := "CDEL"
	at := strings.IndexByte(order, call)
	for _, c := range h.calls {
		if was := strings.IndexByte(order, c); was > at || was == at && call != 'D' {
			h.t.Errorf("after %s came %c", h.calls, call)
		}
	}
	if len(h.calls) == 0 && call != 'C' {
		h.t.Errorf("%c came first", call)
	}
	h.calls = append(h.calls, call)
}

func (h *history) lost() bool { return bytes.HasSuffix(h.calls, []byte("L")) }

// noted gives a Protocol whose every callback is noted in the Value, a *history,
// before it does what p says.
func noted(t testing.TB, p *socket.Protocol) *socket.Protocol {
	of := func(tr *socket.Transport) *history {
		if tr.Value == nil {
			tr.Value = &history{t: t}
		}
		return tr.Value.(*history)
	}
	return &socket.Protocol{
		High: p.High, Low: p.Low, PauseWriting: p.PauseWriting, ResumeWriting: p.ResumeWriting,
		Connected: func(tr *socket.Transport) {
			of(tr).note('C')
			if p.Connected != nil {
				p.Connected(tr)
			}
		},
		Data: func(tr *socket.Transport, b []byte) {
			of(tr).note('D')
			if p.Data != nil {
				p.Data(tr, b)
			}
		},
		EOF: func(tr *socket.Transport) bool {
			of(tr).note('E')
			return p.EOF != nil && p.EOF(tr)
		},
		Lost: func(tr *socket.Transport, err error) {
			of(tr).note('L')
			of(tr).err = err
			if p.Lost != nil {
				p.Lost(tr, err)
			}
		},
	}
}

// TestProtocolEcho: a server of callbacks and its clients on one loop.
func TestProtocolEcho(t *testing.T) {
	const conns, rounds = 200, 5
	lost := 0
	p := noted(t, &socket.Protocol{
		Data: func(tr *socket.Transport, b []byte) {
			if n, err := tr.Write(b); n != len(b) || err != nil {
				t.Errorf("Write: %d, %v", n, err)
			}
		},
		Lost: func(tr *socket.Transport, err error) {
			if lost++; err != nil {
				t.Errorf("Lost with %v", err)
			}
			if tr.LocalAddr() == nil || tr.RemoteAddr() == nil {
				t.Error("no address in Lost")
			}
		},
	})
	run(t, func(ctx context.Context) error {
		return protocol(t, ctx, p, func(ctx context.Context, addr string) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				for i := range conns {
					g.Go(func(ctx context.Context) error {
						c, err := socket.Dial(ctx, "tcp", addr)
						if err != nil {
							return err
						}
						defer c.Close()
						for r := range rounds {
							want := fmt.Sprintf("connection %d, round %d", i, r)
							if _, err := io.WriteString(c, want); err != nil {
								return err
							}
							got := make([]byte, len(want))
							if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
								return fmt.Errorf("got %q, %v, want %q", got, err, want)
							}
						}
						return nil
					})
				}
				return nil
			})
		})
	})
	if lost != conns {
		t.Errorf("%d were lost, of %d", lost, conns)
	}
}

// TestC182WaterMarks: PauseWriting is called once, by the very Write that goes
// above High, and ResumeWriting once when no more than Low are left.
func TestC182WaterMarks(t *testing.T) {
	for _, c := range []struct{ high, low, wantHigh, wantLow int }{
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
			defer peer.Close()
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
			tr.Write([]byte("x"))
			if !slices.Equal(calls, []string{"pause"}) || buffered <= c.wantHigh {
				t.Errorf("%v: %q, with %d buffered", c, calls, buffered)
			}
			tr.Write(make([]byte, 10_000))
			if len(calls) != 1 {
				t.Errorf("%v: paused again: %q", c, calls)
			}
			tr.CloseWrite()
			calls = append(calls, "closed")
			_, err := io.Copy(io.Discard, peer)
			return err
		})
		if !slices.Equal(calls, []string{"pause", "closed"}) {
			t.Errorf("%v: %q after CloseWrite", c, calls)
		}
		calls = nil
		run(t, func(ctx context.Context) error {
			tr, peer := attached(t, ctx, p)
			defer peer.Close()
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

// TestProtocolLimitsWrong: marks that contradict each other are an error of the
// caller.
func TestProtocolLimitsWrong(t *testing.T) {
	for _, p := range []*socket.Protocol{{High: 1, Low: 2}, {High: -1}, {Low: -1}, {High: 5, Low: -1}} {
		func() {
			defer func() {
				if v := recover(); !strings.Contains(fmt.Sprint(v), "rondo: socket.Protocol.Attach with High") {
					t.Errorf("High %d, Low %d: %v", p.High, p.Low, v)
				}
			}()
			p.Attach(context.Background(), nil)
		}()
	}
}

// TestC183WriteAfterLoss: what is written after the connection was lost is
// dropped; here each Write says so, with the error that Lost was given.
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

// TestC184HalfClose: after an EOF that returned true the sending side is open.
func TestC184HalfClose(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var tr *socket.Transport
		p := noted(t, &socket.Protocol{EOF: func(*socket.Transport) bool { return true }})
		tr, peer := attached(t, ctx, p)
		defer peer.Close()
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

// TestProtocolCloseWrite: the connection is read after CloseWrite, and the end of
// the peer ends it.
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

// TestProtocolCloseFlushes: Close sends what is buffered; Abort drops it, and
// cuts a Close short.
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
		defer peer.Close()
		tr.Write(big)
		tr.Close()
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		tr.Abort()
		if err := until(ctx, func() bool { return tr.Value != nil && tr.Value.(*history).lost() }); err != nil {
			return err
		}
		if n, _ := io.Copy(io.Discard, peer); n >= int64(len(big)) {
			t.Error("Abort sent everything")
		}
		return nil
	})
}

// TestProtocolPauseReading: nothing is heard of a paused connection, not even its
// end, and nothing is lost of it.
func TestProtocolPauseReading(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var got []byte
		p := noted(t, &socket.Protocol{Data: func(tr *socket.Transport, b []byte) {
			got = append(got, b...)
			tr.PauseReading()
			tr.PauseReading()
		}})
		tr, peer := attached(t, ctx, p)
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
			if i > 0 && len(got) != n {
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

// TestProtocolScopeEnds: the scope of the connections cuts them off and waits for
// their Lost, whatever state they are in.
func TestProtocolScopeEnds(t *testing.T) {
	stop := errors.New("stop")
	var all []*history
	p := noted(t, &socket.Protocol{Connected: func(tr *socket.Transport) { all = append(all, tr.Value.(*history)) }})
	run(t, func(ctx context.Context) error {
		var peers []net.Conn
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			g.Go(func(ctx context.Context) error { return p.Serve(ctx, l) })
			for i := range 60 {
				c, err := socket.Dial(ctx, "tcp", l.Addr().String())
				if err != nil {
					return err
				}
				peers = append(peers, c)
				tr, peer := attached(t, g, p)
				peers = append(peers, peer)
				switch i % 6 {
				case 1:
					tr.PauseReading()
				case 2:
					tr.Write(make([]byte, 8<<20))
				case 3:
					tr.Write(make([]byte, 8<<20))
					tr.Close()
				case 4:
					tr.Write(make([]byte, 8<<20))
					tr.CloseWrite()
				case 5:
					tr.Write(make([]byte, 1<<20))
					peer.Close()
				}
			}
			if err := until(ctx, func() bool { return len(all) == 120 }); err != nil {
				return err
			}
			tr, peer := attached(t, g, p) // not connected yet
			peers = append(peers, peer)
			_ = tr
			g.Cancel(stop)
			return nil
		})
		if err != stop {
			t.Errorf("the Group returned %v", err)
		}
		for _, c := range peers {
			c.Close()
		}
		if len(all) != 121 {
			t.Errorf("%d connections", len(all))
		}
		for _, h := range all {
			if !h.lost() {
				t.Errorf("a connection is left: %s", h.calls)
			}
			if h.err != stop && !errors.As(h.err, new(*net.OpError)) {
				t.Errorf("Lost with %v", h.err)
			}
		}
		return nil
	})
}

// TestProtocolLoopEnds: with main the loop ends, and its connections with it.
func TestProtocolLoopEnds(t *testing.T) {
	h := &history{t: t}
	run(t, func(ctx context.Context) error {
		tr, peer := attached(t, ctx, noted(t, &socket.Protocol{}))
		tr.Value = h
		t.Cleanup(func() { peer.Close() })
		return rondo.Yield(ctx)
	})
	if string(h.calls) != "CL" || !errors.Is(h.err, context.Canceled) {
		t.Errorf("%s, %v", h.calls, h.err)
	}
}

// TestProtocolMustNotWait: a callback that waits panics with a sentence, the loop
// ends by it, and each connection has its Lost.
func TestProtocolMustNotWait(t *testing.T) {
	for name, wait := range map[string]func(tr *socket.Transport, c net.Conn){
		"Sleep in a callback":                         func(tr *socket.Transport, _ net.Conn) { rondo.Sleep(tr.Context(), time.Second) },
		"Read in a callback: callbacks must not wait": func(_ *socket.Transport, c net.Conn) { c.Read(make([]byte, 1)) },
		"oops": func(*socket.Transport, net.Conn) { panic("oops") },
	} {
		var all []*history
		var peers []net.Conn
		func() {
			defer func() {
				var p *rondo.PanicError
				v := recover()
				if err, _ := v.(error); !errors.As(err, &p) || !strings.Contains(err.Error(), name) {
					t.Errorf("%s: %v", name, v)
				}
			}()
			r := rondo.Runner{Recover: true}
			r.Run(context.Background(), func(ctx context.Context) error {
				p := noted(t, &socket.Protocol{
					Connected: func(tr *socket.Transport) { all = append(all, tr.Value.(*history)) },
					Data:      func(tr *socket.Transport, _ []byte) { wait(tr, peers[0]) },
				})
				for range 10 {
					_, peer := attached(t, ctx, p)
					peers = append(peers, peer)
				}
				if err := until(ctx, func() bool { return len(all) == 10 }); err != nil {
					return err
				}
				for _, c := range peers {
					io.WriteString(c, "x")
				}
				return rondo.Sleep(ctx, time.Hour)
			})
			t.Errorf("%s: Run returned", name)
		}()
		for _, h := range all {
			if !h.lost() {
				t.Errorf("%s: %s", name, h.calls)
			}
		}
		for _, c := range peers {
			c.Close()
		}
	}
}

// TestProtocolPanics: whatever callback panics, those that are left have their Lost all the same.
func TestProtocolPanics(t *testing.T) {
	lost := 0
	var peers []net.Conn
	func() {
		defer func() { recover() }()
		rondo.Run(context.Background(), func(ctx context.Context) error {
			oops := func(*socket.Transport) { panic("oops") }
			p := &socket.Protocol{Connected: oops, Lost: func(tr *socket.Transport, _ error) { lost++; oops(tr) }}
			var mine []net.Conn
			for range 30 {
				c, peer := pair(t, ctx)
				mine, peers = append(mine, c), append(peers, peer)
			}
			for _, c := range mine {
				if _, err := p.Attach(ctx, c); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	for _, c := range peers {
		c.Close()
	}
	if lost != 30 {
		t.Errorf("%d were lost of 30", lost)
	}
}

// TestTransportContext: a callback that has to wait starts a task, which belongs
// to the scope of the connections and may write.
func TestTransportContext(t *testing.T) {
	p := noted(t, &socket.Protocol{Data: func(tr *socket.Transport, b []byte) {
		b = bytes.Clone(b)
		rondo.Go(tr.Context(), func(ctx context.Context) error {
			if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
			_, err := tr.Write(bytes.ToUpper(b))
			return err
		})
	}})
	run(t, func(ctx context.Context) error {
		return protocol(t, ctx, p, func(ctx context.Context, addr string) error {
			c, err := socket.Dial(ctx, "tcp", addr)
			if err != nil {
				return err
			}
			defer c.Close()
			_, attachedPeer := attached(t, ctx, p)
			defer attachedPeer.Close()
			for _, c := range []net.Conn{c, attachedPeer} {
				got := make([]byte, 5)
				io.WriteString(c, "hello")
				if _, err := io.ReadFull(c, got); err != nil || string(got) != "HELLO" {
					t.Errorf("%q, %v", got, err)
				}
			}
			return nil
		})
	})
}

// TestAttach: what the system has received already comes as Data; the Conn is
// closed for who still holds it; and what cannot be taken over is left alone.
func TestAttach(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var got []byte
		p := noted(t, &socket.Protocol{Data: func(_ *socket.Transport, b []byte) { got = append(got, b...) }})
		a, b := pair(t, ctx)
		io.WriteString(b, "early bird")
		first := make([]byte, 6)
		if _, err := io.ReadFull(a, first); err != nil {
			return err
		}

		reader := rondo.Go(ctx, func(context.Context) error { _, err := b.Read(make([]byte, 10)); return err })
		waiting(ctx, "read", 1)
		if _, err := p.Attach(ctx, b); err == nil || !strings.Contains(err.Error(), "a task is reading") {
			t.Errorf("Attach of a connection that is read: %v", err)
		}

		tr, err := p.Attach(ctx, a)
		if err != nil {
			return err
		}
		if _, err := a.Read(first); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Read of the Conn: %v", err)
		}
		if err := a.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Close of the Conn: %v", err)
		}
		if _, err := p.Attach(ctx, a); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Attach again: %v", err)
		}
		if err := until(ctx, func() bool { return string(got) == "bird" }); err != nil {
			return err
		}
		if tr.RemoteAddr().String() != b.LocalAddr().String() || tr.LocalAddr().String() != b.RemoteAddr().String() {
			t.Errorf("addresses %v, %v", tr.LocalAddr(), tr.RemoteAddr())
		}
		tr.Abort()
		if err := reader.Wait(ctx); err != io.EOF {
			t.Errorf("the reader: %v", err)
		}
		b.Close()

		x, y := socket.Pipe(ctx)
		if _, err := p.Attach(ctx, x); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Attach of a Pipe: %v", err)
		}
		if err := both(ctx, func(context.Context) error { _, err := x.Write([]byte("x")); return err },
			func(context.Context) error { _, err := y.Read(first); return err }); err != nil {
			t.Errorf("the Pipe afterwards: %v", err)
		}
		if _, err := p.Attach(context.Background(), x); !errors.Is(err, rondo.ErrNoLoop) {
			t.Errorf("without a loop: %v", err)
		}
		return nil
	})
}

// TestAttachStandard: connections of package net, and a Unix socket.
func TestAttachStandard(t *testing.T) {
	p := noted(t, &socket.Protocol{Data: func(tr *socket.Transport, b []byte) { tr.Write(b) }})
	for _, network := range []string{"tcp", "unix"} {
		addr := "127.0.0.1:0"
		if network == "unix" {
			addr = t.TempDir() + "/s"
		}
		l, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		peer, err := net.Dial(network, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		local := c.LocalAddr().String()
		run(t, func(ctx context.Context) error {
			tr, err := p.Attach(ctx, c)
			if err != nil {
				return err
			}
			if tr.LocalAddr().String() != local || tr.LocalAddr().Network() != network || tr.RemoteAddr() == nil {
				t.Errorf("addresses %v, %v", tr.LocalAddr(), tr.RemoteAddr())
			}
			_, err = rondo.Offload(ctx, func(context.Context) (int, error) {
				io.WriteString(peer, "hello")
				got := make([]byte, 5)
				_, err := io.ReadFull(peer, got)
				if string(got) != "hello" {
					t.Errorf("%q", got)
				}
				if err != nil {
					return 0, err
				}
				if err := rondo.LoopOf(ctx).Post(tr.Close); err != nil {
					return 0, err
				}
				// Nothing else holds the connection open.
				peer.SetReadDeadline(time.Now().Add(10 * time.Second))
				_, err = io.ReadAll(peer)
				return 0, err
			})
			return err
		})
		peer.Close()
	}
}

// TestTransportElsewhere: another goroutine that uses a Transport is told so.
func TestTransportElsewhere(t *testing.T) {
	run(t, func(ctx context.Context) error {
		tr, peer := attached(t, ctx, &socket.Protocol{})
		defer peer.Close()
		for name, call := range map[string]func(){
			"Write": func() { tr.Write(nil) }, "Close": tr.Close, "Abort": tr.Abort, "CloseWrite": tr.CloseWrite,
			"PauseReading": tr.PauseReading, "ResumeReading": tr.ResumeReading,
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

// TestProtocolSimulated: a simulation has no descriptors, and says so.
func TestProtocolSimulated(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		x, _ := socket.Pipe(ctx)
		if _, err := new(socket.Protocol).Attach(ctx, x); !errors.Is(err, errors.ErrUnsupported) {
			t.Error(err)
		}
	})
}

// TestProtocolCloseReadsNoMore: after Close there is no Data, although Lost is
// still to come.
func TestProtocolCloseReadsNoMore(t *testing.T) {
	run(t, func(ctx context.Context) error {
		tr, peer := attached(t, ctx, noted(t, &socket.Protocol{}))
		tr.Write(make([]byte, 8<<20))
		tr.Close()
		for range 20 {
			io.WriteString(peer, "x")
			rondo.Sleep(ctx, 50*time.Microsecond) // so that the driver is asked
		}
		if h := tr.Value.(*history); string(h.calls) != "C" {
			t.Errorf("%s", h.calls)
		}
		tr.Abort()
		return peer.Close()
	})
}

// TestProtocolListenerCloses: when the listener is closed, what is buffered on
// its connections is sent, and Serve returns when they are lost.
func TestProtocolListenerCloses(t *testing.T) {
	const size, conns = 4 << 20, 20
	lost := 0
	p := noted(t, &socket.Protocol{
		Connected: func(tr *socket.Transport) { tr.Write(make([]byte, size)) },
		Lost: func(_ *socket.Transport, err error) {
			if lost++; err != nil {
				t.Errorf("Lost with %v", err)
			}
		},
	})
	run(t, func(ctx context.Context) error {
		var readers []*rondo.Task
		err := protocol(t, ctx, p, func(g context.Context, addr string) error {
			for range conns {
				c, err := socket.Dial(g, "tcp", addr)
				if err != nil {
					return err
				}
				if _, err := c.Read(make([]byte, 1)); err != nil {
					return err
				}
				readers = append(readers, rondo.Go(ctx, func(context.Context) error {
					defer c.Close()
					n, err := io.Copy(io.Discard, c)
					if n != size-1 {
						t.Errorf("%d bytes came", n)
					}
					return err
				}))
			}
			return nil
		})
		if lost != conns {
			t.Errorf("%d were lost when Serve returned", lost)
		}
		for _, reader := range readers {
			err = errors.Join(err, reader.Wait(ctx))
		}
		return err
	})
}

// TestAttachShares: all that is attached with one ctx has one task, which ends
// with the last of them; a later one gets another.
func TestAttachShares(t *testing.T) {
	var lives []*history
	run(t, func(ctx context.Context) error {
		p := noted(t, &socket.Protocol{})
		tasks := func() (n int) {
			for _, info := range rondo.Tasks(ctx) {
				if info.Name == "protocol" {
					n++
				}
			}
			return n
		}
		for range 3 {
			var all []*socket.Transport
			for range 10 {
				tr, peer := attached(t, ctx, p)
				t.Cleanup(func() { peer.Close() })
				all = append(all, tr)
				lives = append(lives, tr.Value.(*history))
				rondo.Yield(ctx)
			}
			if n := tasks(); n != 1 {
				t.Errorf("%d tasks for ten connections", n)
			}
			for _, tr := range all {
				tr.Abort()
			}
			if err := until(ctx, func() bool { return tasks() == 0 }); err != nil {
				return err
			}
		}
		tr, peer := attached(t, ctx, p)
		t.Cleanup(func() { peer.Close() })
		lives = append(lives, tr.Value.(*history))
		return nil
	})
	for _, h := range lives {
		if !h.lost() {
			t.Errorf("left behind: %q", h.calls)
		}
	}
}
