package socket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo/socket"
)

// TestPacketHooks: the hooks and fields of ListenConfig and Dialer hold for
// datagrams.
func TestPacketHooks(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var hooked []string
		hook := func(network, address string, c syscall.RawConn) error {
			hooked = append(hooked, network)
			return c.Control(func(uintptr) {})
		}
		lc := socket.ListenConfig{Control: hook, ReusePort: true}
		a, err := lc.ListenPacket(ctx, "udp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer a.Close()
		b, err := lc.ListenPacket(ctx, "udp", a.LocalAddr().String())
		if err != nil {
			return fmt.Errorf("the port is not shared: %w", err)
		}
		b.Close()
		d := socket.Dialer{Control: hook, LocalAddr: &net.UDPAddr{IP: net.IPv4(127, 0, 0, 2)}}
		c, err := d.DialContext(ctx, "udp", a.LocalAddr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		if host, _, _ := net.SplitHostPort(c.LocalAddr().String()); host != "127.0.0.2" {
			t.Errorf("dialled from %v", c.LocalAddr())
		}
		if want := "[udp4 udp4 udp4]"; fmt.Sprint(hooked) != want {
			t.Errorf("the hooks were called for %v", hooked)
		}
		n, err := socket.Dial(ctx, "udp", net.JoinHostPort("localhost", "9"))
		if err != nil {
			return err
		}
		return n.Close()
	})
}

// TestPacketSyscall: the descriptor, a file, and messages with control data
// work as with a *net.UDPConn.
func TestPacketSyscall(t *testing.T) {
	run(t, func(ctx context.Context) error {
		c := packets(t, ctx, "udp", "127.0.0.1:0")
		here := c.LocalAddr().(*net.UDPAddr)
		if err := errors.Join(c.SetReadBuffer(1<<16), c.SetWriteBuffer(1<<16)); err != nil {
			return err
		}
		f, err := c.File()
		if err != nil {
			return err
		}
		std, err := net.FilePacketConn(f)
		f.Close()
		if err != nil {
			return err
		}
		defer std.Close()
		return everywhere(ctx, func(where string) error {
			if _, err := std.WriteTo([]byte("by file"), here); err != nil {
				return err
			}
			p, oob := make([]byte, 20), make([]byte, 100)
			n, _, _, from, err := c.ReadMsgUDP(p, oob)
			if err != nil || string(p[:n]) != "by file" || from.String() != here.String() {
				t.Errorf("%s: ReadMsgUDP gave %q from %v, %v", where, p[:n], from, err)
			}
			if n, _, err := c.WriteMsgUDP([]byte("msg"), nil, here); n != 3 || err != nil {
				t.Errorf("%s: WriteMsgUDP: %d, %v", where, n, err)
			}
			if n, addr, err := c.ReadFromUDP(p); string(p[:n]) != "msg" || addr.Port != here.Port {
				t.Errorf("%s: ReadFromUDP: %q, %v, %v", where, p[:n], addr, err)
			}
			return nil
		})
	})
}

// TestPacketFile: two sockets cannot have the same name, and a stale file is
// replaced.
func TestPacketFile(t *testing.T) {
	run(t, func(ctx context.Context) error {
		path := filepath.Join(t.TempDir(), "s")
		a := packets(t, ctx, "unixgram", path)
		if _, err := socket.ListenPacket(ctx, "unixgram", path); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("bound twice: %v", err)
		}
		if err := a.Close(); err != nil {
			return err
		}
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is left: %v", err)
		}
		std, err := net.ListenPacket("unixgram", path) // it leaves its file
		if err != nil {
			return err
		}
		std.Close()
		b := packets(t, ctx, "unixgram", path)
		c, err := socket.Dial(ctx, "unixgram", path)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := io.WriteString(c, "hello"); err != nil {
			return err
		}
		p := make([]byte, 10)
		n, from, err := b.ReadFrom(p)
		if !bytes.Equal(p[:n], []byte("hello")) || from != nil {
			t.Errorf("got %q from %v, %v", p[:n], from, err)
		}
		return b.Close()
	})
}
