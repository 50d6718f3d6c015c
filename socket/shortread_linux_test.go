//go:build !rondo_portable

package socket_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// peers are ways to send data that a read returns in pieces, although all of it
// has arrived.
var peers = []struct {
	name, network string
	send          func(sys int) error
}{
	// A read of a Unix socket ends at a message that has descriptors: unix(7).
	{"descriptors", "unix", func(sys int) error {
		if err := unix.Sendmsg(sys, []byte("ab"), unix.UnixRights(0), nil, 0); err != nil {
			return err
		}
		_, err := unix.Write(sys, []byte("cd"))
		return err
	}},
	// One of TCP ends before urgent data: tcp(7).
	{"urgent", "tcp", func(sys int) error {
		for _, m := range []struct {
			text  string
			flags int
		}{{"ab", 0}, {"!", unix.MSG_OOB}, {"cd", 0}} {
			if err := unix.Send(sys, []byte(m.text), m.flags); err != nil {
				return err
			}
		}
		return nil
	}},
}

// on runs op with the descriptor of a connection.
func on(c syscall.Conn, op func(sys int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	return errors.Join(raw.Control(func(sys uintptr) { err = op(int(sys)) }), err)
}

// TestShortRead: a read that returned less than was asked for does not always
// mean that there is no more. The rest is read without another event.
//
// Method: both pieces are sent in one step while the reader waits, so it gets
// only one report. The test guards against a Read that waits although there is
// data.
func TestShortRead(t *testing.T) {
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			run(t, func(ctx context.Context) error {
				a, b := pairOf(t, ctx, p.network)
				return both(ctx, func(ctx context.Context) error {
					got := make([]byte, 4)
					_, err := io.ReadFull(readBig{a}, got)
					if string(got) != "abcd" {
						t.Errorf("read %q", got)
					}
					return err
				}, func(ctx context.Context) error {
					waiting(ctx, "read", 1)
					return on(b, p.send)
				})
			})
		})
	}
}

// TestUrgentIsNothingToRead: urgent data alone ends no wait for something to
// read, and calls no watch.
func TestUrgentIsNothingToRead(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		return on(a, func(sys int) error {
			calls, waited := 0, false
			stop := socket.WatchRead(ctx, uintptr(sys), func() { calls++ })
			defer stop()
			return both(ctx, func(ctx context.Context) error {
				err := socket.WaitRead(ctx, uintptr(sys))
				waited = true
				return err
			}, func(ctx context.Context) error {
				waiting(ctx, "read", 1)
				if err := on(b, func(sys int) error { return unix.Send(sys, []byte("!"), unix.MSG_OOB) }); err != nil {
					return err
				}
				// When this has gone to and fro the loop has seen the event.
				pair(t, ctx)
				if waited || calls > 0 {
					t.Errorf("urgent data: the wait has ended: %v, calls: %d", waited, calls)
				}
				_, err := io.WriteString(b, "x")
				return err
			})
		})
	})
}

// readBig reads with a large buffer.
type readBig struct{ io.Reader }

func (r readBig) Read(p []byte) (int, error) {
	big := make([]byte, 4096)
	n, err := r.Reader.Read(big)
	return copy(p, big[:n]), err
}

// TestProtocolShortRead is TestShortRead for a Protocol.
func TestProtocolShortRead(t *testing.T) {
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			run(t, func(ctx context.Context) error {
				a, b := pairOf(t, ctx, p.network)
				var got bytes.Buffer
				var connected, done rondo.Event
				proto := &socket.Protocol{
					Connected: func(*socket.Transport) { connected.Set() },
					Data: func(tr *socket.Transport, data []byte) {
						if got.Write(data); got.Len() == 4 {
							tr.Close()
						}
					},
					Lost: func(*socket.Transport, error) { done.Set() },
				}
				if _, err := proto.Attach(ctx, a); err != nil {
					return err
				}
				if err := connected.Wait(ctx); err != nil {
					return err
				}
				if err := on(b, p.send); err != nil {
					return err
				}
				err := done.Wait(ctx)
				if got.String() != "abcd" {
					t.Errorf("got %q", got.String())
				}
				return err
			})
		})
	}
}

// TestBigPacket: a packet of any size is sent and received as one.
func TestBigPacket(t *testing.T) {
	const size = 3 << 19
	run(t, func(ctx context.Context) error {
		a, b := pairOf(t, ctx, "unixpacket")
		// Exceeding the system's limit needs a privilege. Without it the system
		// refuses the packet, and does not cut it.
		_ = on(a, func(sys int) error { return unix.SetsockoptInt(sys, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 2*size) })
		return both(ctx, func(context.Context) error {
			n, err := a.Write(make([]byte, size))
			if errors.Is(err, unix.EMSGSIZE) {
				_, err = a.Write(make([]byte, 1))
				return err
			}
			if n != size {
				t.Errorf("wrote %d", n)
			}
			return err
		}, func(context.Context) error {
			n, err := b.Read(make([]byte, 2*size))
			if n != size && n != 1 {
				t.Errorf("read %d", n)
			}
			return err
		})
	})
}
