package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// isAny reports whether err is one of a list.
func isAny(err error, list []error) bool {
	return slices.ContainsFunc(list, func(e error) bool { return errors.Is(err, e) })
}

func TestCloseRead(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, _ := pair(t, ctx)
		return both(ctx, func(ctx context.Context) error {
			n, err := a.Read(make([]byte, 1))
			if n != 0 || err != io.EOF {
				t.Errorf("Read returned %d, %v; want EOF", n, err)
			}
			return nil
		}, func(ctx context.Context) error {
			waiting(ctx, "read", 1)
			return a.CloseRead()
		})
	})
}

func TestClosed(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		buf := make([]byte, 1)
		_, read := a.Read(buf)
		_, write := a.Write(buf)
		_, file := a.File()
		for what, err := range map[string]error{
			"Close": a.Close(), "Read": read, "Write": write, "File": file,
			"SetDeadline": a.SetDeadline(time.Now()), "CloseWrite": a.CloseWrite(),
			"CloseRead": a.CloseRead(), "SetNoDelay": a.SetNoDelay(true),
		} {
			var op *net.OpError
			if !errors.Is(err, net.ErrClosed) || !errors.As(err, &op) {
				t.Errorf("%s of a closed connection: %v", what, err)
			}
		}
		if n, err := b.Read(buf); n != 0 || err != io.EOF {
			t.Errorf("the peer read %d, %v; want EOF", n, err)
		}
		return nil
	})
}

// TestReset: an error that the peer causes is the one of package net.
func TestReset(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		if err := b.SetLinger(0); err != nil {
			return err
		}
		if err := b.Close(); err != nil {
			return err
		}
		_, err := a.Read(make([]byte, 1))
		var op *net.OpError
		if !isAny(err, peerReset) || !errors.As(err, &op) || op.Op != "read" || op.Addr != a.RemoteAddr() || op.Source != a.LocalAddr() {
			t.Errorf("Read of a reset connection: %#v", err)
		}
		return nil
	})
}

// TestZeroBytes: a Read or a Write of no bytes returns at once, a Read also past its deadline, as
// in package net. After Close a Read fails.
func TestZeroBytes(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, _ := pair(t, ctx)
		if err := a.SetReadDeadline(time.Unix(1, 0)); err != nil {
			return err
		}
		for _, p := range [][]byte{nil, {}} {
			if n, err := a.Read(p); n != 0 || err != nil {
				t.Errorf("Read: %d, %v", n, err)
			}
			if n, err := a.Write(p); n != 0 || err != nil {
				t.Errorf("Write: %d, %v", n, err)
			}
		}
		a.Close()
		if _, err := a.Read(nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Read of a closed connection: %v", err)
		}
		return nil
	})
}

// TestOptions: the methods of *net.TCPConn do what they say.
func TestOptions(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		for what, err := range map[string]error{
			"SetNoDelay":         a.SetNoDelay(false),
			"SetKeepAlive":       a.SetKeepAlive(true),
			"SetKeepAlivePeriod": a.SetKeepAlivePeriod(time.Minute),
			"SetKeepAliveConfig": a.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 90 * time.Second}),
			"SetLinger":          a.SetLinger(-1),
			"SetReadBuffer":      a.SetReadBuffer(1 << 16),
			"SetWriteBuffer":     a.SetWriteBuffer(1 << 16),
		} {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		f, err := a.File()
		if err != nil {
			return err
		}
		// The file is a second descriptor of the same connection.
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_, err = b.Read(make([]byte, 1))
		if !strings.HasPrefix(a.LocalAddr().String(), "127.0.0.1:") || a.LocalAddr().String() != b.RemoteAddr().String() {
			t.Errorf("addresses %v and %v", a.LocalAddr(), b.RemoteAddr())
		}
		return err
	})
}

// TestLingerDoesNotBlock: with a linger time close(2) may wait for the peer; the
// loop does not.
func TestLingerDoesNotBlock(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		if err := a.SetLinger(3600); err != nil {
			return err
		}
		if err := a.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
			return err
		}
		// The buffers are full, so close has to wait for b.
		_, err := a.Write(make([]byte, 64<<20))
		timedOut(t, "Write", err)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		_, err = io.Copy(io.Discard, b)
		return err
	})
}
