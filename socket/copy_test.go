package socket_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// longFile makes a file of n bytes of pattern.
func longFile(t testing.TB, n int) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(longText(n)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	return f
}

func longText(n int) []byte { return bytes.Repeat(pattern, n/len(pattern)+1)[:n] }

// TestC199SendFile: from any position of a file, the bytes asked for go to the
// connection, and the position advances by as many. With TLS they are copied.
func TestC199SendFile(t *testing.T) {
	const size = 3 << 20
	f := longFile(t, size)
	server, client := certificate(t)
	run(t, func(ctx context.Context) error {
		return everywhere(ctx, func(where string) error {
			for _, c := range []struct{ from, count int64 }{{0, size}, {0, 1}, {1000, 5_000}, {size - 10, 10}, {5, 0}, {7, size}, {size, 1}} {
				for _, secret := range []bool{false, true} {
					a, b := stdPair(t, ctx)
					var w, r net.Conn = a, b
					if secret {
						w, r = tls.Server(a, server), tls.Client(b, client)
					}
					if _, err := f.Seek(c.from, io.SeekStart); err != nil {
						return err
					}
					got := make(chan []byte, 1)
					go func() {
						p, err := io.ReadAll(r)
						if err != nil && !secret {
							t.Error(err)
						}
						got <- p
						r.Close()
					}()
					want := longText(size)[c.from:min(c.from+c.count, size)]
					limited := &io.LimitedReader{R: f, N: c.count}
					n, err := io.Copy(w, limited)
					if n != int64(len(want)) || limited.N != c.count-n || err != nil {
						t.Errorf("%s: a copy of %d from %d: %d, %d to go, %v", where, c.count, c.from, n, limited.N, err)
					}
					w.Close()
					p, err := received(ctx, where, got)
					if err != nil {
						return err
					}
					if !bytes.Equal(p, want) {
						t.Errorf("%s: from %d, %d bytes of %d came over", where, c.from, len(p), len(want))
					}
					if at, _ := f.Seek(0, io.SeekCurrent); at != c.from+n {
						t.Errorf("%s: the file is at %d, after %d from %d", where, at, n, c.from)
					}
				}
			}
			return nil
		})
	})
}

// received returns what a goroutine has read.
func received(ctx context.Context, where string, got chan []byte) ([]byte, error) {
	if where == "foreign" {
		return <-got, nil
	}
	return rondo.Offload(ctx, func(context.Context) ([]byte, error) { return <-got, nil })
}

// stdPair returns a Conn and its peer, a connection of package net.
func stdPair(t testing.TB, ctx context.Context) (*socket.Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := socket.Dial(ctx, "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return c.(*socket.Conn), peer
}

// TestC199Ends: an interrupted copy of a file returns how much was sent. The
// file's position has advanced by what was taken, at most one buffer more.
func TestC199Ends(t *testing.T) {
	const size = 64 << 20
	f := longFile(t, size)
	run(t, func(ctx context.Context) error {
		for _, way := range []string{"reset", "deadline", "cancelled", "closed"} {
			a, b := stdPair(t, ctx)
			if _, err := f.Seek(1000, io.SeekStart); err != nil {
				return err
			}
			var n int64
			gone := errors.New("gone")
			task := rondo.Go(ctx, func(ctx context.Context) (err error) {
				n, err = io.Copy(a, f)
				return err
			})
			// What is read from the file is written before more is read, so
			// then something has been sent.
			for at := int64(0); at <= 1000+copyLoss && !task.Done(); at, _ = f.Seek(0, io.SeekCurrent) {
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			waiting(ctx, "write", 1)
			switch way {
			case "deadline":
				if err := a.SetWriteDeadline(time.Unix(1, 0)); err != nil {
					return err
				}
			case "reset":
				if err := b.(*net.TCPConn).SetLinger(0); err != nil {
					return err
				}
				b.Close()
			case "cancelled":
				task.Cancel(gone)
			case "closed":
				a.Close()
			}
			err := task.Wait(ctx)
			switch {
			case way == "deadline":
				timedOut(t, "Copy", err)
			case way == "cancelled" && !errors.Is(err, gone), way == "closed" && !errors.Is(err, net.ErrClosed), err == nil:
				t.Errorf("%s: Copy returned %v", way, err)
			}
			at, _ := f.Seek(0, io.SeekCurrent)
			if lost := at - 1000 - n; n == 0 || n >= size || lost < 0 || lost > copyLoss {
				t.Errorf("%s: %d bytes were sent, and the file is at %d", way, n, at)
			}
			a.Close()
			b.Close()
		}
		return nil
	})
}

// TestRelay: a copy from connection to connection is complete, in small pieces
// or large ones, limited or not, and passes the end of the stream on.
func TestRelay(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for _, c := range []struct{ size, piece int }{{0, 1}, {10, 3}, {5 << 20, 64 << 10}, {5<<20 + 17, 1 << 20}, {1 << 20, 700}} {
			in, from := pair(t, ctx)
			to, out := pair(t, ctx)
			text := longText(c.size)
			err := both(ctx, func(context.Context) error {
				for at := 0; at < len(text); at += c.piece {
					if _, err := in.Write(text[at:min(at+c.piece, len(text))]); err != nil {
						return err
					}
				}
				return in.CloseWrite()
			}, func(context.Context) error {
				// A part of it by size, and the rest until the end.
				first := int64(c.size / 3)
				lr := &io.LimitedReader{R: from, N: first + 1}
				n, err := io.CopyN(to, from, first)
				if err == nil {
					lr.N = 1
					var m int64
					m, err = to.ReadFrom(lr)
					if lr.N != 1-m {
						t.Errorf("%d was copied, and the limit is %d", m, lr.N)
					}
					n += m
				}
				if err == nil {
					var m int64
					m, err = io.Copy(to, from)
					n += m
				}
				if n != int64(c.size) || err != nil {
					t.Errorf("size %d in pieces of %d: %d, %v", c.size, c.piece, n, err)
				}
				return to.CloseWrite()
			}, func(context.Context) error {
				got, err := io.ReadAll(out)
				if !bytes.Equal(got, text) {
					t.Errorf("size %d in pieces of %d: %d came over", c.size, c.piece, len(got))
				}
				return err
			})
			if err != nil {
				return err
			}
			for _, c := range []net.Conn{in, from, to, out} {
				c.Close()
			}
		}
		return nil
	})
}

// TestRelayEnds: a copy between connections ends with either of them, and with
// its task. Its error names the side that failed, and it leaves no pipe.
func TestRelayEnds(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for _, way := range []string{"source", "target", "cancelled", "deadline of reading", "deadline of writing"} {
			in, from := pair(t, ctx)
			to, out := pair(t, ctx)
			gone := errors.New("gone")
			text := longText(1 << 20)
			flood := rondo.Go(ctx, func(context.Context) error {
				for {
					if _, err := in.Write(text); err != nil {
						return nil
					}
				}
			})
			relay := rondo.Go(ctx, func(context.Context) error {
				_, err := io.Copy(to, from)
				return err
			})
			if _, err := io.CopyN(io.Discard, out, 4<<20); err != nil {
				return err
			}
			waiting(ctx, "write", 2) // out is full, and so is from
			op := "write"
			switch way {
			case "source":
				// Data in the pipe must arrive before the source is read again.
				op = "read"
				from.Close()
				drained := rondo.Go(ctx, func(context.Context) error { _, _ = io.Copy(io.Discard, out); return nil })
				defer drained.Cancel(nil)
			case "target":
				to.Close()
			case "cancelled":
				relay.Cancel(gone)
			case "deadline of reading":
				op = "read"
				if err := from.SetReadDeadline(time.Unix(1, 0)); err != nil {
					return err
				}
				drained := rondo.Go(ctx, func(context.Context) error { _, _ = io.Copy(io.Discard, out); return nil })
				defer drained.Cancel(nil)
			case "deadline of writing":
				if err := to.SetWriteDeadline(time.Unix(1, 0)); err != nil {
					return err
				}
			}
			err := relay.Wait(ctx)
			var named *net.OpError
			ended := errors.As(err, &named) && named.Op == op
			if way == "cancelled" {
				ended = errors.Is(err, gone) // at either side
			}
			if !ended {
				t.Errorf("%s: Copy returned %v", way, err)
			}
			for _, c := range []net.Conn{in, from, to, out} {
				c.Close()
			}
			if err := flood.Wait(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestRelayFair: a copy that never waits lets other tasks run.
func TestRelayFair(t *testing.T) {
	run(t, func(ctx context.Context) error {
		in, from := pair(t, ctx)
		to, out := pair(t, ctx)
		const size = 32 << 20
		copied := false
		turns := 0
		err := both(ctx, func(context.Context) error {
			_, err := in.Write(longText(size))
			return errors.Join(err, in.CloseWrite())
		}, func(context.Context) error {
			_, err := io.Copy(to, from)
			copied = true
			return errors.Join(err, to.CloseWrite())
		}, func(context.Context) error {
			_, err := io.Copy(io.Discard, out)
			return err
		}, func(ctx context.Context) error {
			for !copied {
				turns++
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		if turns < size>>20 {
			t.Errorf("another task had %d turns", turns)
		}
		for _, c := range []net.Conn{in, from, to, out} {
			c.Close()
		}
		return err
	})
}
