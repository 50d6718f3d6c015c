package socket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// dialer dials on the network of a host for goroutines of it, as net/http asks for.
func dialer(host context.Context) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		both, cancel := context.WithCancelCause(host)
		defer cancel(nil)
		defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
		return socket.Dial(both, network, address)
	}
}

// serveHTTP is the program of a host: net/http's server, on goroutines.
func serveHTTP(ctx context.Context) error {
	return rondo.OffloadFunc(ctx, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", ":80")
		if err != nil {
			return err
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			<-time.After(10 * time.Millisecond)
			_, _ = fmt.Fprint(w, r.URL.Path, len(b))
		})}
		return s.Serve(l)
	})
}

// post sends so many bytes to the server, and returns its answer.
func post(ctx context.Context, c *http.Client, path string, size int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server"+path, bytes.NewReader(make([]byte, size)))
	if err != nil {
		return "", err
	}
	res, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	return string(b), err
}

// TestAroundHTTP: the server of net/http runs on a host, and its client on another one.
func TestAroundHTTP(t *testing.T) {
	good := 0
	sim.Config{Seeds: 30, Goroutines: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
		w.Host("server", serveHTTP)
		_ = rondo.Sleep(ctx, time.Second)
		client := &http.Client{Transport: &http.Transport{DialContext: dialer(ctx)}}
		err := rondo.OffloadFunc(ctx, func(ctx context.Context) error {
			for i := range 5 {
				text, err := post(ctx, client, fmt.Sprintf("/%d/", i), 100*i)
				if err != nil {
					return err
				}
				if text != fmt.Sprintf("/%d/%d", i, 100*i) {
					return fmt.Errorf("request %d was answered %q", i, text)
				}
				good++
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		client.CloseIdleConnections()
	})
	if good == 0 {
		t.Error("no request succeeded")
	}
}

// TestAroundFaults: three clients at one instant, and faults of the seed.
func TestAroundFaults(t *testing.T) {
	good, bad := 0, 0
	c := sim.Config{Seeds: 30, Goroutines: true, Faults: sim.Faults{Crash: 0.5, PowerFail: 0.3, Partition: 0.5, Pause: 0.3}}
	c.Cluster(t, func(ctx context.Context, w *sim.World) {
		w.Host("server", serveHTTP)
		_ = rondo.Sleep(ctx, time.Second)
		client := &http.Client{Transport: &http.Transport{DialContext: dialer(ctx)}}
		ended := make(chan error)
		for i := range 3 {
			go func() {
				for j := range 5 {
					text, err := post(ctx, client, fmt.Sprintf("/%d/%d/", i, j), 1000*i)
					if err == nil && text != fmt.Sprintf("/%d/%d/%d", i, j, 1000*i) {
						t.Errorf("request %d of client %d was answered %q", j, i, text)
					}
					ended <- err
					<-time.After(time.Second)
				}
			}()
		}
		for range 15 {
			err, _, waited := rondo.Receive(ctx, ended)
			switch {
			case waited != nil:
				t.Error(waited)
			case err != nil:
				bad++
			default:
				good++
			}
		}
		client.CloseIdleConnections()
	})
	if good == 0 || bad == 0 {
		t.Errorf("%d requests succeeded and %d failed: want both", good, bad)
	}
	t.Log(good, bad)
}

// TestAroundWriteUnderLock: a goroutine holds a lock of package sync while it writes more than
// the connection holds, and another one waits for the lock. The peer reads a minute later.
func TestAroundWriteUnderLock(t *testing.T) {
	const size = 300 << 10
	c := sim.Config{Seeds: 5, Goroutines: true, Network: sim.Network{Buffer: 16 << 10}}
	c.Cluster(t, func(ctx context.Context, w *sim.World) {
		var read int64
		w.Host("server", func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", ":80")
			if err != nil {
				return err
			}
			c, err := l.Accept()
			if err != nil {
				return err
			}
			if err := rondo.Sleep(ctx, time.Minute); err != nil {
				return err
			}
			read, err = io.Copy(io.Discard, c)
			return err
		})
		_ = rondo.Sleep(ctx, time.Second)
		c, err := socket.Dial(ctx, "tcp", "server:80")
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		err = rondo.OffloadFunc(ctx, func(context.Context) error {
			var writers sync.WaitGroup
			for range 2 {
				writers.Go(func() {
					mu.Lock()
					defer mu.Unlock()
					if _, err := c.Write(make([]byte, size)); err != nil {
						t.Error(err)
					}
				})
			}
			writers.Wait()
			return c.Close()
		})
		if err != nil {
			t.Error(err)
		}
		_ = rondo.Sleep(ctx, 10*time.Minute)
		if read != 2*size {
			t.Error("the server has read", read, "bytes")
		}
	})
}

// TestAroundClose: a goroutine closes a connection before what it wrote has left, and while another
// one reads. What was written arrives, and the connection is closed for all goroutines at once.
func TestAroundClose(t *testing.T) {
	const size = 1 << 20
	c := sim.Config{Seeds: 5, Goroutines: true, Network: sim.Network{Buffer: 16 << 10}}
	c.Cluster(t, func(ctx context.Context, w *sim.World) {
		var read []byte
		var begun atomic.Bool
		w.Host("server", listening(":80", func(ctx context.Context, l net.Listener) error {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			_ = rondo.Sleep(ctx, time.Minute)
			begun.Store(true)
			read, err = io.ReadAll(c)
			return err
		}))
		c, err := dialRetry(ctx, "server:80")
		if err != nil {
			t.Fatal(err)
		}
		err = rondo.OffloadFunc(ctx, func(context.Context) error {
			ended := make(chan error)
			go func() { _, err := c.Read(make([]byte, 1)); ended <- err }()
			p := bytes.Repeat([]byte("x"), size)
			for i := range 2 {
				if n, err := c.Write(p); n != size || err != nil {
					t.Errorf("Write %d: %d, %v", i, n, err)
				}
				clear(p) // what Write has taken does not change
				if began := begun.Load(); began != (i == 1) {
					t.Errorf("after Write %d: the server reads: %v", i, began)
				}
				p = bytes.Repeat([]byte("y"), size)
			}
			if n, err := c.Write(p[:1]); n != 1 || err != nil {
				t.Errorf("the last Write: %d, %v", n, err)
			}
			is(t, "SetKeepAlive", c.(*socket.Conn).SetKeepAlive(true), nil)
			if err := c.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			is(t, "Read before Close", <-ended, net.ErrClosed)
			_, err := c.Read(make([]byte, 1))
			is(t, "Read", err, net.ErrClosed)
			_, err = c.Write(p[:1])
			is(t, "Write", err, net.ErrClosed)
			is(t, "SetDeadline", c.SetDeadline(time.Time{}), net.ErrClosed)
			is(t, "a second Close", c.Close(), net.ErrClosed)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		_ = rondo.Sleep(ctx, 10*time.Minute)
		want := append(bytes.Repeat([]byte("x"), size), bytes.Repeat([]byte("y"), size+1)...)
		if !bytes.Equal(read, want) {
			t.Errorf("%d bytes arrived, want %d, or others", len(read), len(want))
		}
	})
}

// TestAroundPackets: goroutines send and receive datagrams.
func TestAroundPackets(t *testing.T) {
	c := sim.Config{Seeds: 5, Goroutines: true, Network: quick, Exact: true}
	c.Cluster(t, func(ctx context.Context, w *sim.World) {
		serve := func(context.Context) error {
			c, err := socket.ListenPacket(ctx, "udp", ":53")
			if err != nil {
				return err
			}
			p := make([]byte, 100)
			for range 3 {
				n, from, err := c.ReadFrom(p)
				if err != nil {
					return err
				}
				if _, err := c.WriteTo(p[:n], from); err != nil {
					return err
				}
			}
			if err := c.Close(); err != nil {
				return err
			}
			_, _, err = c.ReadFrom(p)
			is(t, "ReadFrom", err, net.ErrClosed)
			_, err = c.WriteTo(p, c.LocalAddr())
			is(t, "WriteTo", err, net.ErrClosed)
			return nil
		}
		err := rondo.OffloadFunc(ctx, func(ctx context.Context) error {
			served := make(chan error)
			go func() { served <- serve(ctx) }()
			<-time.After(time.Second)
			c, err := socket.Dial(ctx, "udp", "test:53")
			if err != nil {
				return err
			}
			p := make([]byte, 100)
			for _, text := range []string{"one", "two", "three"} {
				if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
					t.Errorf("Write: %d, %v", n, err)
				}
				if n, err := c.Read(p); string(p[:n]) != text || err != nil {
					t.Errorf("Read: %q, %v", p[:n], err)
				}
			}
			return <-served
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestAroundOrder: of two goroutines that listen on one port at one instant either may be first.
func TestAroundOrder(t *testing.T) {
	first := map[int]int{}
	sim.Config{Seeds: 20, SeedsShort: 20, Goroutines: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
		err := rondo.OffloadFunc(ctx, func(ctx context.Context) error {
			var open [2]net.Listener
			var both sync.WaitGroup
			for i := range open {
				both.Go(func() {
					<-time.After(time.Second)
					if l, err := socket.Listen(ctx, "tcp", ":80"); err == nil {
						open[i] = l
					} else {
						is(t, "the second Listen", err, syscall.EADDRINUSE)
					}
				})
			}
			both.Wait()
			for i, l := range open {
				if l != nil {
					first[i]++
					_ = l.Close()
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	if len(first) != 2 {
		t.Error("which one was first, and how often:", first)
	}
}

// TestAroundLimit: a goroutine may let as much time pass as Config.Limit allows, and an hour
// without one, while nothing else happens but faults.
func TestAroundLimit(t *testing.T) {
	for _, row := range []struct {
		limit, sleep time.Duration
		faults       sim.Faults
	}{
		{10 * time.Hour, 9 * time.Hour, sim.Faults{}},
		{10 * time.Hour, 9 * time.Hour, sim.Faults{Pause: 0.2}},
		{0, 50 * time.Minute, sim.Faults{Pause: 0.2}},
	} {
		c := sim.Config{Seeds: 8, SeedsShort: 8, Goroutines: true, Exact: true, Limit: row.limit, Faults: row.faults}
		c.Cluster(t, func(ctx context.Context, w *sim.World) {
			start := rondo.Now(ctx)
			err := rondo.OffloadFunc(ctx, func(context.Context) error { <-time.After(row.sleep); return nil })
			if d := rondo.Now(ctx).Sub(start); err != nil || d != row.sleep {
				t.Errorf("%+v: %v after %v", row, err, d)
			}
		})
	}
}

// TestAroundEndless: a goroutine that goes on although its program has ended, and ignores each
// error, is ended.
func TestAroundEndless(t *testing.T) {
	sim.Config{Seeds: 2, Goroutines: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
		go func() {
			for {
				if l, err := socket.Listen(ctx, "tcp", ":80"); err == nil {
					_ = l.Close()
				}
				<-time.After(time.Second)
			}
		}()
		_ = rondo.Sleep(ctx, time.Minute)
	})
}

// TestAroundProgramEnds: a program ends although a goroutine of it waits, and the goroutine learns
// that its socket is closed.
func TestAroundProgramEnds(t *testing.T) {
	sim.Config{Seeds: 5, Goroutines: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
		var failed, again error
		h := w.Host("server", func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", ":80")
			if err != nil {
				return err
			}
			go func() {
				_, failed = l.Accept()
				<-time.After(time.Second)
				_, again = socket.Listen(ctx, "tcp", ":81")
			}()
			err = rondo.Sleep(ctx, time.Second)
			if !slices.ContainsFunc(rondo.Tasks(ctx), func(i rondo.TaskInfo) bool { return i.Name == "errand" }) {
				t.Errorf("no task of the host accepts for the goroutine: %+v", rondo.Tasks(ctx))
			}
			return err
		})
		if err := w.Eventually(ctx, time.Hour, func() bool { return !h.Up() && failed != nil && again != nil }); err != nil {
			t.Errorf("up: %v, Accept returned %v, Listen %v", h.Up(), failed, again)
		}
		is(t, "Accept", failed, net.ErrClosed)
		is(t, "Listen", again, net.ErrClosed)
	})
}

// TestAroundCrash: a goroutine of a host that has crashed ends although it tries again whatever is
// returned to it, and the test goes on.
func TestAroundCrash(t *testing.T) {
	c := sim.Config{Seeds: 5, Goroutines: true, MaxSteps: 100_000}
	c.Cluster(t, func(ctx context.Context, w *sim.World) {
		ended := false
		h := w.Host("server", func(ctx context.Context) error {
			go func() {
				defer func() { ended = true }()
				<-time.After(time.Hour)
				for {
					_, err := socket.Listen(ctx, "tcp", ":80")
					is(t, "Listen", err, net.ErrClosed)
				}
			}()
			return rondo.WaitCanceled(ctx)
		})
		_ = rondo.Sleep(ctx, time.Minute)
		h.Crash()
		if err := rondo.Sleep(ctx, 2*time.Hour); err != nil || !ended {
			t.Errorf("%v; the goroutine has ended: %v", err, ended)
		}
	})
}

// TestAroundDown: after a crash, and after the end of the program, each call of a goroutine fails
// at once.
func TestAroundDown(t *testing.T) {
	for name, call := range map[string]func(stream, packets net.Conn) error{
		"Write":             func(c, _ net.Conn) error { _, err := c.Write([]byte("x")); return err },
		"Write of a packet": func(_, c net.Conn) error { _, err := c.Write([]byte("x")); return err },
		"SetDeadline":       func(c, _ net.Conn) error { return c.SetDeadline(time.Time{}) },
		"CloseWrite":        func(c, _ net.Conn) error { return c.(*socket.Conn).CloseWrite() },
		"Close":             func(c, _ net.Conn) error { return c.Close() },
		"Close of packets":  func(_, c net.Conn) error { return c.Close() },
	} {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s crash=%v", name, crash), func(t *testing.T) {
				sim.Config{Seeds: 3, SeedsShort: 3, Goroutines: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
					w.Host("server", silent)
					failed := errors.New("it was not called")
					h := w.Host("client", func(ctx context.Context) error {
						stream, err := dialRetry(ctx, "server:7")
						if err != nil {
							return err
						}
						packets, err := socket.Dial(ctx, "udp", "server:7")
						if err != nil {
							return err
						}
						go func() {
							<-time.After(time.Hour)
							failed = call(stream, packets)
						}()
						return rondo.Sleep(ctx, 30*time.Minute)
					})
					_ = rondo.Sleep(ctx, 20*time.Minute)
					if crash {
						h.Crash()
					}
					_ = rondo.Sleep(ctx, 2*time.Hour)
					is(t, "the call", failed, net.ErrClosed)
				})
			})
		}
	}
}

// TestAroundLastWrite: what a goroutine has written arrives, however the program ends right after
// that, and on whichever loop of it the connection is.
func TestAroundLastWrite(t *testing.T) {
	for name, end := range map[string]func(h *sim.Host){
		"return":  nil,
		"crash":   (*sim.Host).Crash,
		"restart": (*sim.Host).Restart,
		"signal":  func(h *sim.Host) { h.Signal(syscall.SIGTERM) },
	} {
		for _, beside := range []bool{false, true} {
			for _, itself := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s beside=%v itself=%v", name, beside, itself), func(t *testing.T) {
					c := sim.Config{Seeds: 3, SeedsShort: 3, Goroutines: true, Exact: true, Network: quick}
					c.Cluster(t, func(ctx context.Context, w *sim.World) { lastWrite(ctx, t, w, end, beside, itself) })
				})
			}
		}
	}
}

// lastWrite has the program of a host write by a goroutine, and end: with nil by returning, else
// by end, which it calls itself, or the test.
func lastWrite(ctx context.Context, t *testing.T, w *sim.World, end func(h *sim.Host), beside, itself bool) {
	l, err := socket.Listen(ctx, "tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	booted, written := 0, rondo.NewFuture[bool](ctx)
	var h *sim.Host
	h = w.Host("client", func(ctx context.Context) error {
		if booted++; booted > 1 {
			return nil
		}
		over := rondo.NewFuture[bool](ctx)
		write := func(ctx context.Context) error {
			c, err := socket.Dial(ctx, "tcp", "test:80")
			if err != nil {
				return err
			}
			err = rondo.OffloadFunc(ctx, func(context.Context) error { _, err := io.WriteString(c, "hello"); return err })
			if end != nil && itself {
				end(h)
			}
			written.Set(true)
			over.Set(true)
			if beside {
				_ = rondo.WaitCanceled(ctx)
			}
			return err
		}
		if beside {
			driver.HostOf(kernel.Of(ctx).Driver()).RunBeside("beside", write, func() {})
		} else {
			rondo.Go(ctx, write)
		}
		if _, err := over.Wait(ctx); err != nil || end == nil {
			return err
		}
		return rondo.WaitCanceled(ctx)
	})
	rondo.Go(ctx, func(ctx context.Context) error {
		_, err := written.Wait(ctx)
		if end != nil && !itself {
			end(h)
		}
		return err
	})
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(in); string(got) != "hello" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestAroundDeferred: the deferred calls of a program that ends wait for what goroutines do for
// them, however it ends. A goroutine can no longer use the network then.
func TestAroundDeferred(t *testing.T) {
	for name, end := range map[string]func(h *sim.Host){
		"end of the test": func(*sim.Host) {},
		"crash":           (*sim.Host).Crash,
		"power failure":   (*sim.Host).PowerFail,
		"restart":         (*sim.Host).Restart,
	} {
		t.Run(name, func(t *testing.T) {
			runs, tidied := 0, 0
			c := sim.Config{Seeds: 5, Goroutines: true, MaxSteps: 100_000}
			c.Cluster(t, func(ctx context.Context, w *sim.World) {
				runs++
				h := w.Host("a", func(ctx context.Context) error {
					defer func() {
						err := rondo.Shield(ctx, func(ctx context.Context) error {
							return rondo.OffloadFunc(ctx, func(context.Context) error {
								<-time.After(time.Minute)
								_, err := socket.Listen(ctx, "tcp", ":80")
								return err
							})
						})
						is(t, "Listen", err, net.ErrClosed)
						tidied++
					}()
					return rondo.WaitCanceled(ctx)
				})
				_ = rondo.Sleep(ctx, time.Second)
				end(h)
				_ = rondo.Sleep(ctx, time.Second)
			})
			if name == "restart" {
				runs *= 2 // it is booted twice
			}
			if runs == 0 || tidied != runs {
				t.Errorf("%d of %d programs have tidied up", tidied, runs)
			}
		})
	}
}

// TestAroundPause: what a goroutine of a host sends while the host is paused leaves it afterwards.
func TestAroundPause(t *testing.T) {
	c := sim.Config{Seeds: 5, Goroutines: true, Exact: true, Network: quick}
	c.Cluster(t, func(ctx context.Context, w *sim.World) {
		l, err := socket.Listen(ctx, "tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		h := w.Host("client", func(ctx context.Context) error {
			c, err := socket.Dial(ctx, "tcp", "test:80")
			if err != nil {
				return err
			}
			go func() {
				<-time.After(2 * time.Minute)
				_, _ = c.Write([]byte("x"))
			}()
			return rondo.WaitCanceled(ctx)
		})
		in, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_ = rondo.Sleep(ctx, time.Minute)
		start := rondo.Now(ctx)
		h.Pause(10 * time.Minute)
		_, err = in.Read(make([]byte, 1))
		if took := rondo.Now(ctx).Sub(start).Round(time.Minute); err != nil || took != 10*time.Minute {
			t.Errorf("it came %v after the begin of the pause, %v", took, err)
		}
	})
}

// TestAroundDeadlines: a goroutine that sets a deadline counts by its own clock, which is that of
// the world, also where that of the host is wrong. A deadline that has passed ends a Read at once,
// and without one a Read waits.
func TestAroundDeadlines(t *testing.T) {
	c := sim.Config{Seeds: 3, Goroutines: true, Exact: true, Network: quick}
	c.Cluster(t, func(ctx context.Context, w *sim.World) {
		ended := errors.New("the client has not ended")
		w.Host("server", listening(":80", func(ctx context.Context, l net.Listener) error {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			_ = rondo.Sleep(ctx, time.Hour)
			_, err = c.Write([]byte("x"))
			return err
		}))
		w.Host("client", func(ctx context.Context) error {
			c, err := dialRetry(ctx, "server:80")
			if err != nil {
				return err
			}
			sim.HostOf(ctx).SetClock(-24*time.Hour, 0)
			ended = rondo.OffloadFunc(ctx, func(context.Context) error {
				read := func(d time.Duration) (time.Duration, error) {
					start := time.Now()
					is(t, "SetReadDeadline", c.SetReadDeadline(start.Add(d)), nil)
					_, err := c.Read(make([]byte, 1))
					return time.Since(start), err
				}
				for _, d := range []time.Duration{time.Minute, -time.Minute, 0} {
					took, err := read(d)
					is(t, "Read", err, os.ErrDeadlineExceeded)
					if took != max(d, 0) {
						t.Errorf("a Read with %v left took %v", d, took)
					}
				}
				start := time.Now()
				is(t, "SetReadDeadline to none", c.SetReadDeadline(time.Time{}), nil)
				if _, err := c.Read(make([]byte, 1)); err != nil || time.Since(start) < 30*time.Minute {
					t.Errorf("Read without a deadline: %v after %v", err, time.Since(start))
				}
				return c.Close()
			})
			return ended
		})
		_ = rondo.Sleep(ctx, 2*time.Hour)
		if ended != nil {
			t.Error(ended)
		}
	})
}

// TestAroundFailedWrite: what a goroutine writes is taken before it is sent, so a Write learns of
// the failure of one before it, and so does each one after that.
func TestAroundFailedWrite(t *testing.T) {
	sim.Config{Seeds: 3, Goroutines: true, Exact: true, Network: quick}.Cluster(t, func(ctx context.Context, w *sim.World) {
		w.Host("server", listening(":80", func(ctx context.Context, l net.Listener) error {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			return c.Close()
		}))
		c, err := dialRetry(ctx, "server:80")
		if err != nil {
			t.Fatal(err)
		}
		err = rondo.OffloadFunc(ctx, func(context.Context) error {
			<-time.After(time.Minute)
			var failed []error
			for range 4 {
				n, err := c.Write([]byte("hello"))
				if err == nil != (n == 5) {
					t.Errorf("Write: %d, %v", n, err)
				}
				failed = append(failed, err)
				<-time.After(time.Minute)
			}
			is(t, "the first Write", failed[0], nil)
			is(t, "the last Write but one", failed[2], syscall.EPIPE)
			is(t, "the last Write", failed[3], syscall.EPIPE)
			return c.Close()
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestAroundFailedOnce: after a Write that was too long for a packet, or that had too little time,
// others succeed. The one that was too long fails the next, also if another was taken meanwhile.
func TestAroundFailedOnce(t *testing.T) {
	write := func(t *testing.T, c net.Conn, text string, want error) {
		t.Helper()
		_, err := io.WriteString(c, text)
		is(t, fmt.Sprintf("Write of %d bytes", len(text)), err, want)
	}
	t.Run("too long", func(t *testing.T) {
		sim.Config{Seeds: 3, Goroutines: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
			a, b := openPair(t, ctx, "unixpacket")
			err := rondo.OffloadFunc(ctx, func(context.Context) error {
				write(t, a, strings.Repeat("x", 300<<10), nil)
				write(t, a, "one", nil)
				<-time.After(time.Second)
				write(t, a, "lost", syscall.EMSGSIZE)
				write(t, a, "two", nil)
				return a.Close()
			})
			if err != nil {
				t.Error(err)
			}
			for _, want := range []string{"one", "two", ""} {
				p := make([]byte, 10)
				if n, _ := b.Read(p); string(p[:n]) != want {
					t.Errorf("%q was read, want %q", p[:n], want)
				}
			}
		})
	})
	t.Run("too late", func(t *testing.T) {
		sim.Config{Seeds: 3, Goroutines: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
			c, _ := hostPair(ctx, t, w, func(ctx context.Context, c *socket.Conn) error {
				_ = rondo.Sleep(ctx, time.Hour)
				all, err := io.ReadAll(c)
				if !bytes.HasSuffix(all, []byte("0onetwo")) {
					t.Errorf("%d bytes were read, or others", len(all))
				}
				return err
			})
			err := rondo.OffloadFunc(ctx, func(context.Context) error {
				is(t, "SetDeadline", c.SetWriteDeadline(time.Now().Add(time.Minute)), nil)
				write(t, c, strings.Repeat("0", 2<<20), os.ErrDeadlineExceeded)
				is(t, "SetDeadline to none", c.SetWriteDeadline(time.Time{}), nil)
				write(t, c, "one", nil)
				<-time.After(time.Second)
				write(t, c, "two", nil)
				return c.Close()
			})
			if err != nil {
				t.Error(err)
			}
			_ = rondo.Sleep(ctx, 2*time.Hour)
		})
	})
}

// TestAroundUnsent: what has been sent makes room for other Writes, which return at once although
// nobody reads, and so does Close, which ends a Read of another goroutine.
func TestAroundUnsent(t *testing.T) {
	c := sim.Config{Seeds: 3, Goroutines: true, Exact: true, Network: sim.Network{Latency: 1, Buffer: 16 << 10}}
	c.Cluster(t, func(ctx context.Context, w *sim.World) {
		const size = 700 << 10
		w.Host("server", listening(":80", func(ctx context.Context, l net.Listener) error {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			if _, err := io.CopyN(io.Discard, c, size); err != nil {
				return err
			}
			return rondo.Sleep(ctx, time.Hour)
		}))
		c, err := dialRetry(ctx, "server:80")
		if err != nil {
			t.Fatal(err)
		}
		err = rondo.OffloadFunc(ctx, func(context.Context) error {
			ended := make(chan error)
			go func() { _, err := c.Read(make([]byte, 1)); ended <- err }()
			for range 2 {
				start := time.Now()
				if n, err := c.Write(make([]byte, size)); n != size || err != nil || time.Since(start) > time.Second {
					t.Errorf("Write: %d, %v after %v", n, err, time.Since(start))
				}
				<-time.After(time.Minute)
			}
			start := time.Now()
			is(t, "Close", c.Close(), nil)
			is(t, "Read", <-ended, net.ErrClosed)
			if took := time.Since(start); took > time.Second {
				t.Errorf("Read ended %v after Close", took)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A shared is a connection that tasks and goroutines use.
type shared struct {
	*socket.Conn
	ctx context.Context
	t   *testing.T
}

// by runs fn on a goroutine, and waits for it.
func (c *shared) by(fn func()) {
	_ = rondo.OffloadFunc(c.ctx, func(context.Context) error { fn(); return nil })
}

func (c *shared) put(text string) {
	if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
		c.t.Errorf("Write of %d bytes: %d, %v", len(text), n, err)
	}
}

// TestAroundTasks: what goroutines and tasks do with one connection takes effect in the order of
// the calls.
func TestAroundTasks(t *testing.T) {
	big := strings.Repeat("B", 700<<10)
	past := time.Unix(1, 0)
	for name, one := range map[string]struct {
		do   func(ctx context.Context, c *shared)
		want string // what the peer reads
	}{
		"Write": {func(_ context.Context, c *shared) {
			c.put("a")
			c.by(func() { c.put("b") })
			c.put("c")
			c.by(func() { c.put("d"); c.put("e") })
			c.put("f")
		}, "abcdef"},
		"large Write":         {func(_ context.Context, c *shared) { c.by(func() { c.put(big) }); c.put("a") }, big + "a"},
		"Write, Close":        {func(_ context.Context, c *shared) { c.by(func() { c.put("a") }); is(c.t, "Close", c.Close(), nil) }, "a"},
		"large Write, Close":  {func(_ context.Context, c *shared) { c.by(func() { c.put(big) }); is(c.t, "Close", c.Close(), nil) }, big},
		"Close after a task":  {func(_ context.Context, c *shared) { c.put("a"); c.by(func() { is(c.t, "Close", c.Close(), nil) }) }, "a"},
		"end of program":      {func(_ context.Context, c *shared) { c.by(func() { c.put("a") }) }, "a"},
		"large, then the end": {func(_ context.Context, c *shared) { c.by(func() { c.put(big) }) }, big},
		"Write, CloseWrite": {func(_ context.Context, c *shared) {
			c.by(func() { c.put("a") })
			is(c.t, "CloseWrite", c.CloseWrite(), nil)
			c.by(func() { c.put("b") })
		}, "a"},
		"large Write, CloseWrite": {func(ctx context.Context, c *shared) {
			c.by(func() { c.put(big) })
			is(c.t, "CloseWrite", c.CloseWrite(), nil)
			_ = rondo.Sleep(ctx, time.Hour)
		}, big},
		"CloseWrite": {func(_ context.Context, c *shared) {
			c.put("a")
			c.by(func() { is(c.t, "CloseWrite", c.CloseWrite(), nil) })
			_, err := c.Write([]byte("b"))
			is(c.t, "Write", err, syscall.EPIPE)
		}, "a"},
		"Close": {func(_ context.Context, c *shared) {
			c.by(func() { c.put("a"); is(c.t, "Close", c.Close(), nil) })
			_, err := c.Write([]byte("b"))
			is(c.t, "Write", err, net.ErrClosed)
			_, err = c.Read(make([]byte, 1))
			is(c.t, "Read", err, net.ErrClosed)
			is(c.t, "SetDeadline", c.SetDeadline(past), net.ErrClosed)
			is(c.t, "CloseWrite", c.CloseWrite(), net.ErrClosed)
			is(c.t, "a second Close", c.Close(), net.ErrClosed)
		}, "a"},
		"deadline": {func(_ context.Context, c *shared) {
			c.by(func() { c.put("a"); is(c.t, "SetDeadline", c.SetDeadline(past), nil) })
			_, err := c.Write([]byte("b"))
			is(c.t, "Write", err, os.ErrDeadlineExceeded)
			_, err = c.Read(make([]byte, 1))
			is(c.t, "Read", err, os.ErrDeadlineExceeded)
			c.by(func() { is(c.t, "SetDeadline", c.SetDeadline(past), nil) })
			is(c.t, "SetDeadline", c.SetDeadline(time.Time{}), nil)
			c.put("c")
			c.by(func() { c.put("d") })
			is(c.t, "SetDeadline", c.SetDeadline(past), nil)
		}, "acd"},
		"Listen": {func(ctx context.Context, c *shared) {
			l, err := socket.Listen(ctx, "tcp", ":81")
			is(c.t, "Listen", err, nil)
			c.by(func() { is(c.t, "Close", l.Close(), nil) })
			_, err = socket.Listen(ctx, "tcp", ":81")
			is(c.t, "Listen again", err, nil)
		}, ""},
		"unfinished Write": {func(ctx context.Context, c *shared) {
			first := rondo.Go(ctx, func(context.Context) error { c.put(big); return nil })
			_ = rondo.Sleep(ctx, time.Second)
			c.by(func() { c.put("a") })
			is(c.t, "SetReadDeadline", c.SetReadDeadline(past), nil)
			second := rondo.Go(ctx, func(context.Context) error { c.put("b"); return nil })
			_ = first.Wait(ctx)
			_ = second.Wait(ctx)
		}, big + "ab"},
		"unfinished Write, the last": {func(ctx context.Context, c *shared) {
			first := rondo.Go(ctx, func(context.Context) error { c.put(big); return nil })
			_ = rondo.Sleep(ctx, time.Second)
			c.by(func() { c.put("a") })
			_ = first.Wait(ctx)
		}, big + "a"},
		"Close of an unfinished Write": {func(_ context.Context, c *shared) {
			c.by(func() {
				ended := make(chan error)
				go func() { _, err := io.WriteString(c, big+big); ended <- err }()
				<-time.After(time.Second)
				is(c.t, "Close", c.Close(), nil)
				is(c.t, "the unfinished Write", <-ended, net.ErrClosed)
			})
		}, big[:16<<10]},
		"deadline of an unfinished Write": {func(ctx context.Context, c *shared) {
			first := rondo.Go(ctx, func(context.Context) error { _, err := io.WriteString(c, big); return err })
			_ = rondo.Sleep(ctx, time.Second)
			c.by(func() { c.put("a"); is(c.t, "SetDeadline", c.SetDeadline(past), nil) })
			is(c.t, "the unfinished Write", first.Wait(ctx), os.ErrDeadlineExceeded)
		}, big[:16<<10] + "a"},
	} {
		t.Run(name, func(t *testing.T) {
			sim.Config{Seeds: 5, Goroutines: true, Network: sim.Network{Buffer: 16 << 10}}.Cluster(t, func(ctx context.Context, w *sim.World) {
				var read []byte
				w.Host("server", listening(":80", func(ctx context.Context, l net.Listener) error {
					c, err := l.Accept()
					if err != nil {
						return err
					}
					_ = rondo.Sleep(ctx, time.Minute)
					read, err = io.ReadAll(c)
					return err
				}))
				w.Host("client", func(ctx context.Context) error {
					c, err := dialRetry(ctx, "server:80")
					if err != nil {
						return err
					}
					one.do(ctx, &shared{c.(*socket.Conn), ctx, t})
					return nil
				})
				_ = rondo.Sleep(ctx, 3*time.Hour)
				if string(read) != one.want {
					t.Errorf("%d bytes arrived, want %d, or others", len(read), len(one.want))
				}
			})
		})
	}
}
