package socket_test

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/socket"
)

var (
	soakFor  = flag.Duration("soak", 0, "how long TestSoak cuts connections; 0: a few rounds")
	soakSeed = flag.Uint64("soak-seed", 0, "the seed of TestSoak's choices; 0: one by the clock")
)

// TestSoak opens connections and ends them in every way at any moment: reset,
// half-closed, closed during a write, forgotten by a cancelled task, by tasks
// and by goroutines, plain and with TLS. What arrives is a prefix of what was
// sent. At the end of each round no goroutine, descriptor, task or timer is
// left, and at the end of all rounds no memory.
//
// The seed makes the choices; the network's behaviour is not repeatable.
func TestSoak(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d: repeat with -run TestSoak -soak-seed %d", seed, seed)
	rounds := 24
	if testing.Short() {
		rounds = 6
	}
	server, client := certificate(t)
	goroutines, fds := runtime.NumGoroutine(), leak.Descriptors()
	var early, late uint64 // objects on the heap
	start := time.Now()
	n := 0
	for ; n < rounds || time.Since(start) < *soakFor; n++ {
		s := &soak{t: t, seed: seed, round: uint64(n), server: server, client: client}
		run(t, s.main)
		settled(t, goroutines, fds)
		if n == rounds/2 {
			early = objects()
		}
		if t.Failed() {
			t.Fatalf("in round %d of seed %d", n, seed)
		}
	}
	late = objects()
	// Tables of the runtime grow a little for a long time.
	if late > early+early/10+500 {
		t.Errorf("%d objects on the heap after %d rounds, %d after %d", early, rounds/2, late, n)
	}
	t.Logf("%d rounds, %d objects on the heap, %d in the middle", n, late, early)
}

// settled waits until goroutines that are done have ended, and fails if some
// have not. On a busy machine the last instructions of one can take a while.
func settled(t *testing.T, goroutines, fds int) {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); runtime.Gosched() {
		if runtime.NumGoroutine() <= goroutines && leak.Descriptors() <= fds {
			return
		}
	}
	stacks := make([]byte, 1<<20)
	t.Fatalf("%d goroutines before, %d after; %d descriptors before, %d after\n%s", goroutines, runtime.NumGoroutine(),
		fds, leak.Descriptors(), stacks[:runtime.Stack(stacks, true)])
}

// objects returns the number of objects on the heap after a collection.
func objects() uint64 {
	runtime.GC()
	runtime.GC() // what has a finalizer or lay in a pool
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapObjects
}

// soak is one round.
type soak struct {
	t              *testing.T
	seed, round    uint64
	server, client *tls.Config
	addr, secret   string // of the plain server, and of the one with TLS
	accepted       uint64
}

// choices returns the random source of one connection, by its number.
func (s *soak) choices(n uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed+s.round, n)) }

func (s *soak) main(ctx context.Context) error {
	plain, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	secret, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.addr, s.secret = plain.Addr().String(), secret.Addr().String()
	// Errors are expected here.
	srv := &socket.Server{Handler: s.serve, OnError: func(net.Conn, error) {}}
	rondo.Go(ctx, func(ctx context.Context) error { return srv.Serve(ctx, plain) })
	rondo.Go(ctx, func(ctx context.Context) error { return srv.Serve(ctx, socket.NewTLSListener(ctx, secret, s.server)) })
	err = rondo.Group(ctx, func(g *rondo.Scope) error {
		for i := range uint64(48) {
			g.Go(func(ctx context.Context) error { s.visit(ctx, s.choices(2*i)); return nil })
		}
		g.Go(s.datagrams)
		return nil
	})
	if err != nil {
		return err
	}
	// A handler may wait for a peer that has been forgotten.
	err = rondo.Timeout(ctx, 50*time.Millisecond, srv.Shutdown)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	loop := rondo.LoopOf(ctx)
	for range 100_000 {
		if st := loop.Stats(); st.Tasks == 1 && st.Timers == 0 {
			return nil
		}
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
	}
	s.t.Errorf("tasks or timers are left: %+v", loop.Stats())
	return nil
}

// pattern is what a connection sends: byte i is pattern[i%len(pattern)].
var pattern = func() []byte {
	p := make([]byte, 65521)
	for i := range p {
		p[i] = byte(i*i>>3 + i)
	}
	return p
}()

// follow checks that p continues the pattern at a position, and returns the
// next position.
func (s *soak) follow(p []byte, at int) int {
	for _, b := range p {
		if b != pattern[at%len(pattern)] {
			s.t.Errorf("byte %d is wrong", at)
			break
		}
		at++
	}
	return at
}

// send writes n bytes of the pattern from a position, and returns the next
// position.
func send(c net.Conn, at, n int) (int, error) {
	for n > 0 {
		from := at % len(pattern)
		m, err := c.Write(pattern[from:min(from+n, len(pattern))])
		at += m
		n -= m
		if err != nil {
			return at, err
		}
	}
	return at, nil
}

// serve is the server's end: an echo that may fail.
func (s *soak) serve(ctx context.Context, c net.Conn) error {
	s.accepted++
	rnd := s.choices(2*s.accepted + 1)
	switch rnd.IntN(8) {
	case 0:
		return outside(ctx, func() error { _, err := io.Copy(c, io.LimitReader(c, 100_000)); return err })
	case 1:
		// Large amounts go through a kernel pipe.
		_, err := io.Copy(c, io.LimitReader(c, int64(1+rnd.IntN(400_000))))
		return err
	}
	p := make([]byte, 1+rnd.IntN(40_000))
	at := 0
	for range 1 + rnd.IntN(60) {
		n, err := c.Read(p)
		if n > 0 {
			at = s.follow(p[:n], at)
			if _, err := c.Write(p[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
	return s.end(ctx, rnd, c, at)
}

// end ends a connection in one of many ways. What it still sends continues the
// pattern at position at.
func (s *soak) end(ctx context.Context, rnd *rand.Rand, c net.Conn, at int) error {
	tcp, plain := c.(*socket.Conn)
	switch way := rnd.IntN(6); {
	case way == 0 && plain:
		if err := tcp.SetLinger(0); err != nil {
			return err
		}
		return c.Close()
	case way == 1 && plain:
		if err := tcp.CloseWrite(); err != nil {
			return err
		}
		return rondo.Sleep(ctx, time.Duration(rnd.IntN(5_000_000))) // the other side goes on
	case way == 2:
		// Closed in the midst of a write, by another task or goroutine.
		return both(ctx, func(context.Context) error {
			_, _ = send(c, at, 4<<20)
			return nil
		}, func(ctx context.Context) error {
			for range rnd.IntN(20) {
				if rondo.Yield(ctx) != nil {
					break
				}
			}
			if rnd.IntN(2) == 0 {
				return c.Close()
			}
			return outside(ctx, c.Close)
		})
	case way == 3:
		// Forgotten by a task that is cancelled.
		var task *rondo.Task
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			task = g.Go(func(context.Context) error { _, err := send(c, at, 1<<20); return err })
			for range rnd.IntN(20) {
				if err := rondo.Yield(g); err != nil {
					return err
				}
			}
			task.Cancel(nil)
			return nil
		})
	}
	return c.Close()
}

// visit is a client.
func (s *soak) visit(ctx context.Context, rnd *rand.Rand) {
	d := socket.Dialer{Timeout: time.Second}
	if rnd.IntN(10) == 0 {
		d.Timeout = time.Duration(1 + rnd.IntN(200_000)) // some are too short
	}
	secret := rnd.IntN(6) == 0
	addr := s.addr
	if secret {
		addr = s.secret
	}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		s.t.Error(err)
	}
	if secret {
		c = socket.TLSClient(ctx, c, s.client)
		defer c.Close()
	}
	// The errors are what the two ends do to each other.
	_ = rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(context.Context) error { s.listen(c); return nil })
		at := 0
		for range rnd.IntN(12) {
			var err error
			n := 1 + rnd.IntN(1<<rnd.IntN(18))
			switch rnd.IntN(8) {
			case 0:
				err = outside(g, func() (err error) { at, err = send(c, at, n); return err })
			case 1:
				// A write that was cut leaves the connection fit for no more.
				err = rondo.Timeout(g, time.Duration(rnd.IntN(300_000)), func(context.Context) (err error) {
					at, err = send(c, at, n)
					return err
				})
			case 2:
				err = rondo.Yield(g)
			case 3:
				err = c.SetReadDeadline(time.Now().Add(time.Duration(rnd.IntN(10_000_000))))
			default:
				at, err = send(c, at, n)
			}
			if err != nil {
				return c.Close()
			}
		}
		if rnd.IntN(3) == 0 {
			g.Cancel(nil)
			return nil
		}
		err := s.end(g, rnd, c, at)
		g.Cancel(nil)
		return err
	})
}

// listen reads until the end or an error.
func (s *soak) listen(c net.Conn) {
	p := make([]byte, 10_000)
	for at := 0; ; {
		n, err := c.Read(p)
		at = s.follow(p[:n], at)
		if err != nil {
			return
		}
	}
}

// datagrams sends some, one of them to a missing peer, and is interrupted.
func (s *soak) datagrams(ctx context.Context) error {
	rnd := s.choices(1 << 40)
	l, err := socket.ListenPacket(ctx, "udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	for range rnd.IntN(20) {
		c, err := socket.Dial(ctx, "udp", l.LocalAddr().String())
		if err != nil {
			return err
		}
		_, _ = fmt.Fprint(c, "hello")
		_ = rondo.Timeout(ctx, time.Duration(rnd.IntN(100_000)), func(context.Context) error {
			_, err := c.Read(make([]byte, 10))
			return err
		})
		if rnd.IntN(4) == 0 {
			_ = outside(ctx, func() error {
				_ = c.SetReadDeadline(time.Now())
				_, err := c.Read(make([]byte, 10))
				return err
			})
		}
		if err := c.Close(); err != nil {
			return err
		}
		if rnd.IntN(10) == 0 {
			l.Close()
		}
	}
	return nil
}
