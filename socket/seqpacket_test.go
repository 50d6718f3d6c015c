package socket_test

import (
	"context"
	"errors"
	"io"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestSeqPackets: on a "unixpacket" connection each Write sends one packet and each Read takes one,
// of which it drops what it has no room for. A Write of no bytes sends an empty packet, as in
// package net; its reader takes it for the end. In a simulation it is the same.
func TestSeqPackets(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "unixpacket", t.TempDir()+"/s")
		if errors.Is(err, syscall.EPROTONOSUPPORT) {
			return nil // this system has none
		}
		if err != nil {
			return err
		}
		l.Close()
		return seqPackets(t, ctx)
	})
	sim.Cluster(t, func(ctx context.Context, _ *sim.World) {
		if err := seqPackets(t, ctx); err != nil {
			t.Error(err)
		}
	})
}

// seqPackets sends packets over a connection of the loop of ctx.
func seqPackets(t *testing.T, ctx context.Context) error {
	a, b := openPair(t, ctx, "unixpacket")
	defer a.Close()
	defer b.Close()
	for _, p := range []string{"", "x", "one", "three"} {
		if n, err := io.WriteString(a, p); n != len(p) || err != nil {
			t.Errorf("Write of %q: %d, %v", p, n, err)
		}
	}
	for _, row := range []struct {
		room int
		want string
		err  error
	}{{2, "", io.EOF}, {2, "x", nil}, {2, "on", nil}, {9, "three", nil}} {
		p := make([]byte, row.room)
		if n, err := b.Read(p); string(p[:n]) != row.want || err != row.err {
			t.Errorf("Read of %q: %q, %v", row.want, p[:n], err)
		}
	}
	const many, size = 20, 40_000 // more than is kept for a reader
	return both(ctx, func(context.Context) error {
		for range many {
			if n, err := a.Write(make([]byte, size)); n != size || err != nil {
				return errors.Join(err, io.ErrShortWrite)
			}
		}
		return nil
	}, func(context.Context) error {
		p := make([]byte, 2*size)
		for range many {
			if n, err := b.Read(p); n != size || err != nil {
				t.Errorf("Read of a large packet: %d, %v", n, err)
				return err
			}
		}
		return nil
	})
}
