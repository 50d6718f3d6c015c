package socket_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

func TestHalfClose(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		defer a.Close()
		defer b.Close()
		return both(ctx, func(ctx context.Context) error {
			if _, err := io.WriteString(a, "question"); err != nil {
				return err
			}
			if err := a.CloseWrite(); err != nil {
				return err
			}
			if _, err := a.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
				t.Errorf("Write after CloseWrite: %v, want EPIPE", err)
			}
			answer, err := io.ReadAll(a)
			if string(answer) != "answer" {
				t.Errorf("read %q", answer)
			}
			return err
		}, func(ctx context.Context) error {
			question, err := io.ReadAll(b)
			if string(question) != "question" {
				t.Errorf("read %q", question)
			}
			if err != nil {
				return err
			}
			if _, err := io.WriteString(b, "answer"); err != nil {
				return err
			}
			return b.CloseWrite()
		})
	})
}

func TestCloseRead(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		defer a.Close()
		defer b.Close()
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

// timedOut tells whether err is what a deadline should give.
func timedOut(t *testing.T, what string, err error) {
	t.Helper()
	var ne net.Error
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &ne) || !ne.Timeout() {
		t.Errorf("%s: %v, want a deadline exceeded", what, err)
	}
}

func TestDeadlineInTask(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		defer a.Close()
		defer b.Close()
		buf := make([]byte, 1)
		_, err := b.Write([]byte("xy"))
		if err != nil {
			return err
		}
		// One that has passed fails although there is data, and the next
		// deadline repairs it.
		if err := a.SetReadDeadline(time.Now().Add(-1)); err != nil {
			return err
		}
		_, err = a.Read(buf)
		timedOut(t, "Read past the deadline", err)
		if err := a.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
			return err
		}
		for range 2 {
			if _, err := a.Read(buf); err != nil {
				t.Error(err)
			}
		}
		// One that comes while Read waits.
		if err := a.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
			return err
		}
		_, err = a.Read(buf)
		timedOut(t, "Read", err)
		// And in writing, against a peer that does not read.
		if err := a.SetWriteDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			return err
		}
		n, err := a.Write(make([]byte, 64<<20))
		timedOut(t, "Write", err)
		if n <= 0 || n >= 64<<20 {
			t.Errorf("Write wrote %d bytes", n)
		}
		return nil
	})
}

// TestDeadlineMoved: a deadline set while a Read waits holds for it, the later
// and the earlier one alike.
func TestDeadlineMoved(t *testing.T) {
	hour := func() time.Time { return time.Now().Add(time.Hour) }
	soon := func() time.Time { return time.Now().Add(time.Millisecond) }
	past := func() time.Time { return time.Unix(1, 0) }
	for _, set := range [][]func() time.Time{{hour, soon}, {soon}, {past}, {hour, hour, past}, {hour, soon, hour, soon}} {
		for _, where := range []string{"task", "foreign"} {
			run(t, func(ctx context.Context) error {
				a, b := pair(t, ctx)
				defer a.Close()
				defer b.Close()
				return both(ctx, func(ctx context.Context) error {
					_, err := a.Read(make([]byte, 1))
					timedOut(t, "Read", err)
					return nil
				}, func(ctx context.Context) error {
					waiting(ctx, "read", 1)
					for _, at := range set {
						if where == "task" {
							if err := a.SetDeadline(at()); err != nil {
								return err
							}
							continue
						}
						if _, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 0, a.SetDeadline(at()) }); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
	}
}

// TestDeadlineForAll: a deadline, and then Close, reach each of the tasks that
// wait to read and to write.
func TestDeadlineForAll(t *testing.T) {
	for what, end := range map[string]func(c *socket.Conn) error{
		"deadline": func(c *socket.Conn) error { return c.SetDeadline(time.Unix(1, 0)) },
		"close":    func(c *socket.Conn) error { return c.Close() },
	} {
		want := map[string]error{"deadline": os.ErrDeadlineExceeded, "close": net.ErrClosed}[what]
		for _, where := range []string{"task", "foreign"} {
			run(t, func(ctx context.Context) error {
				a, b := pair(t, ctx)
				defer b.Close()
				defer a.Close()
				ended := 0
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					for i := range 6 {
						g.Go(func(ctx context.Context) error {
							var err error
							if i%2 == 0 {
								_, err = a.Read(make([]byte, 1))
							} else {
								_, err = a.Write(make([]byte, 64<<20))
							}
							if !errors.Is(err, want) {
								t.Errorf("%s from a %s: operation %d returned %v", what, where, i, err)
							}
							ended++
							return nil
						})
					}
					waiting(ctx, "read", 1)
					waiting(ctx, "write", 1)
					if ended > 0 {
						t.Errorf("%d operations ended by themselves", ended)
					}
					if where == "task" {
						return end(a)
					}
					_, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 0, end(a) })
					return err
				})
			})
		}
	}
}

func TestClosed(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		defer b.Close()
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

// TestReset: what the peer does to the connection has package net's names.
func TestReset(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		defer a.Close()
		if err := b.SetLinger(0); err != nil {
			return err
		}
		if err := b.Close(); err != nil {
			return err
		}
		_, err := a.Read(make([]byte, 1))
		var op *net.OpError
		if !errors.Is(err, syscall.ECONNRESET) || !errors.As(err, &op) || op.Op != "read" || op.Addr != a.RemoteAddr() || op.Source != a.LocalAddr() {
			t.Errorf("Read of a reset connection: %#v", err)
		}
		return nil
	})
}

// TestBackpressure: a Write waits for a slow reader, and not a byte is lost.
func TestBackpressure(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		defer a.Close()
		defer b.Close()
		want := make([]byte, 16<<20)
		if _, err := rand.Read(want); err != nil {
			return err
		}
		var got []byte
		done := false
		return both(ctx, func(ctx context.Context) error {
			n, err := a.Write(want)
			if n != len(want) {
				t.Errorf("wrote %d", n)
			}
			done = true
			return errors.Join(err, a.CloseWrite())
		}, func(ctx context.Context) error {
			waiting(ctx, "write", 1)
			if done {
				t.Error("16 MB were taken while nobody read")
			}
			var err error
			got, err = io.ReadAll(b)
			if !bytes.Equal(got, want) {
				t.Errorf("%d bytes came, not those that were sent", len(got))
			}
			return err
		})
	})
}

// TestWritersNotMixed: tasks and goroutines write frames larger than the
// socket's buffer at once, and each frame arrives whole.
func TestWritersNotMixed(t *testing.T) {
	const writers, frames, size = 6, 20, 300_000
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		defer a.Close()
		defer b.Close()
		write := func(id byte) error {
			for range frames {
				if _, err := a.Write(bytes.Repeat([]byte{id}, size)); err != nil {
					return err
				}
			}
			return nil
		}
		var counts [writers]int
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for id := range byte(writers) {
				g.Go(func(ctx context.Context) error {
					if id%2 == 0 {
						return write(id)
					}
					_, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 0, write(id) })
					return err
				})
			}
			frame := make([]byte, size)
			for range writers * frames {
				if _, err := io.ReadFull(b, frame); err != nil {
					return err
				}
				id := frame[0]
				if !bytes.Equal(frame, bytes.Repeat([]byte{id}, size)) {
					t.Fatal("frames are mixed")
				}
				counts[id]++
			}
			for id, n := range counts {
				if n != frames {
					t.Errorf("writer %d: %d frames", id, n)
				}
			}
			return nil
		})
	})
}

// TestReadersInOrder: each of several readers gets data of its own, in the order
// in which they came, also when one message serves them all.
func TestReadersInOrder(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		defer a.Close()
		defer b.Close()
		const readers = 8
		var got string
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range readers {
				g.Go(func(ctx context.Context) error {
					p := make([]byte, 1)
					_, err := a.Read(p)
					if int(p[0]-'a') != i {
						t.Errorf("reader %d got %q", i, p)
					}
					got += string(p)
					return err
				})
			}
			waiting(ctx, "turn", readers-1)
			if _, err := b.Write([]byte("abc")); err != nil {
				return err
			}
			for len(got) < 3 {
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			_, err := b.Write([]byte("defgh"))
			return err
		})
	})
}

// TestReaderCancelledInLine: the readers behind one that is cancelled lose
// nothing.
func TestReaderCancelledInLine(t *testing.T) {
	for victim := range 3 {
		run(t, func(ctx context.Context) error {
			a, b := pair(t, ctx)
			defer a.Close()
			defer b.Close()
			var got string
			var tasks [3]*rondo.Task
			for i := range tasks {
				tasks[i] = rondo.Go(ctx, func(ctx context.Context) error {
					p := make([]byte, 1)
					_, err := a.Read(p)
					if err == nil {
						got += string(p)
					}
					return err
				})
			}
			waiting(ctx, "turn", 2)
			tasks[victim].Cancel(nil)
			if err := tasks[victim].Wait(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("the cancelled reader returned %v", err)
			}
			if _, err := b.Write([]byte("xy")); err != nil {
				return err
			}
			for i, task := range tasks {
				if i != victim {
					if err := task.Wait(ctx); err != nil {
						t.Error(err)
					}
				}
			}
			if got != "xy" {
				t.Errorf("victim %d: the others read %q", victim, got)
			}
			return nil
		})
	}
}

// TestCancelRead: a Read has no ctx, and the scope around it ends it.
func TestCancelRead(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		defer a.Close()
		defer b.Close()
		var inner error
		err := rondo.Timeout(ctx, time.Millisecond, func(context.Context) error {
			_, inner = a.Read(make([]byte, 1))
			return inner
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Timeout returned %v", err)
		}
		var op *net.OpError
		if !errors.As(inner, &op) || op.Op != "read" {
			t.Errorf("Read returned %#v", inner)
		}
		// The connection is none the worse for it.
		if _, err := b.Write([]byte("x")); err != nil {
			return err
		}
		_, err = a.Read(make([]byte, 1))
		return err
	})
}

// TestCancelledFromTheStart: in a scope that is cancelled a Read fails although
// there is data, and in a Shield it does not.
func TestCancelledFromTheStart(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		defer a.Close()
		defer b.Close()
		if _, err := b.Write([]byte("x")); err != nil {
			return err
		}
		gone := errors.New("gone")
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(gone)
			if _, err := a.Read(make([]byte, 1)); !errors.Is(err, gone) {
				t.Errorf("Read: %v", err)
			}
			if _, err := a.Write(make([]byte, 1)); !errors.Is(err, gone) {
				t.Errorf("Write: %v", err)
			}
			return rondo.Shield(g, func(context.Context) error {
				_, err := a.Read(make([]byte, 1))
				return err
			})
		})
		if err != gone {
			t.Errorf("Group returned %v", err)
		}
		return nil
	})
}

// TestTie: when the wait of a Read was ended by data before the cancellation
// came, Read returns the data, and the next one fails.
func TestTie(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		defer a.Close()
		defer b.Close()
		ties := 0
		for range 50 {
			read := 0
			reader := rondo.Go(ctx, func(ctx context.Context) error {
				for {
					n, err := a.Read(make([]byte, 1))
					if read += n; err != nil {
						return err
					}
				}
			})
			waiting(ctx, "read", 1)
			if _, err := b.Write([]byte("x")); err != nil {
				return err
			}
			for read == 0 && !reader.Done() {
				for _, info := range rondo.Tasks(ctx) {
					if info.ID == reader.ID() && info.State == "ready" {
						ties++
						reader.Cancel(nil)
					}
				}
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			reader.Cancel(nil)
			if err := reader.Wait(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("the reader returned %v", err)
			}
			if read != 1 {
				t.Fatalf("read %d bytes", read)
			}
		}
		if ties == 0 {
			t.Error("there was no tie")
		}
		return nil
	})
}

// TestEOFWithData: data and the end of the stream that arrive together are both
// seen, however the reader's buffer compares with them.
func TestEOFWithData(t *testing.T) {
	for _, size := range []int{1, 2, 3, 4, 100} {
		for _, early := range []bool{false, true} {
			run(t, func(ctx context.Context) error {
				a, b := pair(t, ctx)
				defer a.Close()
				send := func() {
					if _, err := b.Write([]byte("abc")); err != nil {
						t.Error(err)
					}
					b.Close()
				}
				return both(ctx, func(ctx context.Context) error {
					if early {
						send()
					}
					var got []byte
					p := make([]byte, size)
					for {
						n, err := a.Read(p)
						got = append(got, p[:n]...)
						if err == io.EOF {
							break
						}
						if err != nil {
							return err
						}
					}
					if string(got) != "abc" {
						t.Errorf("read %q", got)
					}
					if n, err := a.Read(p); n != 0 || err != io.EOF {
						t.Errorf("the second time: %d, %v", n, err)
					}
					return nil
				}, func(ctx context.Context) error {
					if !early {
						waiting(ctx, "read", 1)
						send()
					}
					return nil
				})
			})
		}
	}
}

func TestZeroBytes(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		defer b.Close()
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

// TestFairness: a task whose reads never wait lets the others run. Between two
// answers to a ping, a stream that is always ready moves a bounded number of
// times.
func TestFairness(t *testing.T) {
	run(t, func(ctx context.Context) error {
		in, out := pair(t, ctx)
		ping, pong := pair(t, ctx)
		for _, c := range []*socket.Conn{in, out, ping, pong} {
			defer c.Close()
		}
		var flood sync.WaitGroup
		flood.Go(func() {
			for p := make([]byte, 64<<10); ; {
				if _, err := out.Write(p); err != nil {
					return
				}
			}
		})
		reads, most := 0, 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				for p := make([]byte, 100); ; reads++ {
					if _, err := in.Read(p); err != nil {
						return nil
					}
				}
			})
			g.Go(func(ctx context.Context) error { return echo(ctx, pong) })
			for reads < 1000 {
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			p := make([]byte, 1)
			for range 300 {
				before := reads
				if _, err := ping.Write(p); err != nil {
					return err
				}
				if _, err := ping.Read(p); err != nil {
					return err
				}
				most = max(most, reads-before)
			}
			ping.CloseWrite()
			return in.Close()
		})
		out.Close()
		flood.Wait()
		// 16 a turn; the loop asks the driver every 64 steps, of which the stream
		// has nearly all when nothing else can run.
		if most > 16*64*4 {
			t.Errorf("the stream moved %d times during one ping", most)
		}
		return err
	})
}

// TestOptions: the methods of *net.TCPConn do what they say.
func TestOptions(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		defer a.Close()
		defer b.Close()
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
		defer b.Close()
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
