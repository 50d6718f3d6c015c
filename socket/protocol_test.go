package socket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// protocol serves p while body runs, and then closes the listener.
func protocol(t testing.TB, ctx context.Context, p *socket.Protocol, body func(ctx context.Context, addr string) error) error {
	t.Helper()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		l := listen(t, g)
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

// TestProtocolLimitsWrong: a Low above High, a Limit below it, or a negative one,
// panics.
func TestProtocolLimitsWrong(t *testing.T) {
	for _, p := range []*socket.Protocol{{High: 1, Low: 2}, {High: -1}, {Low: -1}, {High: 5, Low: -1},
		{Limit: -1}, {Limit: 64<<10 - 1}, {High: 5, Limit: 4}} {
		panics(t, "rondo: socket.Protocol.Attach with ", func() { p.Attach(context.Background(), nil) })
	}
}

// TestProtocolMustNotWait: a callback that waits panics with an error that says so. That
// connection gets its Lost with the error, and OnError once; the others go on.
func TestProtocolMustNotWait(t *testing.T) {
	for name, wait := range map[string]func(tr *socket.Transport, c net.Conn){
		"Sleep in a callback":                         func(tr *socket.Transport, _ net.Conn) { rondo.Sleep(tr.Context(), time.Second) },
		"Read in a callback: callbacks must not wait": func(_ *socket.Transport, c net.Conn) { c.Read(make([]byte, 1)) },
		"oops": func(*socket.Transport, net.Conn) { panic("oops") },
	} {
		run(t, func(ctx context.Context) error {
			var lost, reported []error
			p := &socket.Protocol{
				Data: func(tr *socket.Transport, b []byte) {
					if b[0] == 'w' {
						wait(tr, tr.Value.(net.Conn))
					}
					tr.Write(b)
				},
				Lost:    func(_ *socket.Transport, err error) { lost = append(lost, err) },
				OnError: func(err error) { reported = append(reported, err) },
			}
			bad, peer := attached(t, ctx, p)
			_, other := attached(t, ctx, p)
			defer peer.Close()
			bad.Value = peer
			io.WriteString(peer, "w")
			if _, err := peer.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("%s: the connection goes on: %v", name, err)
			}
			var panicked *rondo.PanicError
			if len(reported) != 1 || !errors.As(reported[0], &panicked) || !strings.Contains(panicked.Error(), name) || !slices.Equal(lost, reported) {
				t.Errorf("%s: Lost got %v, OnError %v", name, lost, reported)
			}
			if stats := p.Stats(); stats.Panics != 1 || stats.Errors != 1 {
				t.Errorf("%s: %+v", name, stats)
			}
			io.WriteString(other, "x")
			if _, err := io.ReadFull(other, make([]byte, 1)); err != nil {
				t.Errorf("%s: another connection: %v", name, err)
			}
			return other.Close()
		})
	}
}

// TestProtocolPanics: each connection whose callbacks panic gets its Lost, and OnError gets
// each panic once, although it panics as well.
func TestProtocolPanics(t *testing.T) {
	lost, reported, noticed := 0, 0, 0
	r := rondo.Runner{OnError: func(rondo.TaskInfo, error) { noticed++ }}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		oops := func(*socket.Transport) { panic("oops") }
		p := &socket.Protocol{
			Connected: oops,
			Lost:      func(tr *socket.Transport, _ error) { lost++; oops(tr) },
			OnError:   func(err error) { reported++; panic(err) },
		}
		for range 30 {
			attached(t, ctx, p)
		}
		return until(ctx, func() bool { return p.Stats().Open == 0 })
	})
	if err != nil || lost != 30 || reported != 60 || noticed != 60 {
		t.Errorf("%v: %d were lost of 30, %d panics reported, of which %d panicked again", err, lost, reported, noticed)
	}
}

// TestProtocolSimulated: a simulation has no descriptors, and the error says
// so.
func TestProtocolSimulated(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		x, _ := socket.Pipe(ctx)
		if _, err := new(socket.Protocol).Attach(ctx, x); !errors.Is(err, errors.ErrUnsupported) {
			t.Error(err)
		}
	})
}

// TestProtocolListenerCloses: when the listener is closed, what its connections
// have buffered is sent, and Serve returns after their Lost.
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

// TestProtocolAddress: a connection that has ended leaves its place at its address to the next one.
func TestProtocolAddress(t *testing.T) {
	p := &socket.Protocol{Limits: socket.Limits{ConnsPerAddr: 1}, Data: func(tr *socket.Transport, b []byte) { tr.Write(b) }}
	run(t, func(ctx context.Context) error {
		return protocol(t, ctx, p, func(ctx context.Context, addr string) error {
			for i := range 3 {
				c, err := socket.Dial(ctx, "tcp", addr)
				if err != nil {
					return err
				}
				if err := roundTripByte(c); err != nil {
					t.Errorf("connection %d: %v", i, err)
				}
				c.Close()
				if err := until(ctx, func() bool { return p.Stats().Open == 0 }); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// TestProtocolLogs: without OnError a panic of a callback is logged, with the address of the peer.
func TestProtocolLogs(t *testing.T) {
	var logged bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	defer slog.SetDefault(before)
	var peer string
	run(t, func(ctx context.Context) error {
		p := &socket.Protocol{Data: func(*socket.Transport, []byte) { panic("oops") }}
		_, c := attached(t, ctx, p)
		peer = c.LocalAddr().String()
		if err := roundTripByte(c); err == nil {
			t.Error("the connection goes on")
		}
		return nil
	})
	if text := logged.String(); strings.Count(text, "oops") == 0 || !strings.Contains(text, "peer="+peer) {
		t.Errorf("it was logged: %s", text)
	}
}
