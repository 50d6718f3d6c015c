package socket_test

import (
	"context"
	"errors"
	"io"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo/socket"
)

// TestWritePacketOfNothing: on a "unixpacket" connection a Write of no bytes sends
// an empty packet, as in package net; its reader takes it for the end.
func TestWritePacketOfNothing(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "unixpacket", t.TempDir()+"/s")
		if errors.Is(err, syscall.EPROTONOSUPPORT) {
			return nil // this system has none
		}
		if err != nil {
			return err
		}
		l.Close()
		a, b := pairOf(t, ctx, "unixpacket")
		if n, err := a.Write(nil); n != 0 || err != nil {
			t.Errorf("Write of no bytes: %d, %v", n, err)
		}
		if _, err := a.Write([]byte("x")); err != nil {
			return err
		}
		p := make([]byte, 2)
		if n, err := b.Read(p); n != 0 || err != io.EOF {
			t.Errorf("the empty packet: %d, %v", n, err)
		}
		if n, err := b.Read(p); n != 1 || err != nil {
			t.Errorf("the next packet: %d, %v", n, err)
		}
		return nil
	})
}
