package httptask_test

// Many clients: those that never end their requests, and those that make very many.

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/internal/peer"
	"github.com/rondo-go/rondo/socket"
)

// used returns how many bytes heap and stacks have.
func used() int {
	for range 3 { // the second frees what pools keep
		runtime.GC()
	}
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int(s.HeapAlloc + s.StackInuse)
}

// A bare client is a descriptor, which costs this process no memory.
type bare int

func connectBare(address string) (bare, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return 0, err
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	return bare(fd), syscall.Connect(fd, &syscall.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()})
}

func (b bare) Write(p []byte) (int, error) { return syscall.Write(int(b), p) }
func (b bare) Close() error                { return syscall.Close(int(b)) }

// slow are the two ways in which a client is slow, with a bound for the memory of its connection.
var slow = []struct {
	name, begins, goesOn, ends string
	most                       int
}{
	{"head", "GET / HTTP/1.1\r\nHost: h\r\nX-Slow: ", "x", "\r\n\r\n", 30_000},
	{"body", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n", "x", "1234567", 32_000},
}

var slowClients = flag.Int("slow", 3000, "how many clients of each kind TestSlowLoris has")

// TestSlowLoris: clients that send a byte now and then cost a task and its buffers each, and no
// more the longer they go on. Others are served meanwhile; those that end their request at last
// are answered; and nothing is left of them.
func TestSlowLoris(t *testing.T) {
	if !peer.Watches {
		return // net/http has the connections
	}
	clients := *slowClients
	if testing.Short() || underRace { // which allows 8,128 goroutines
		clients = 500
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	clients = min(clients, (int(files.Cur)-leak.Descriptors()-100)/2) // both ends are here
	for _, c := range slow {
		s := &httptask.Server{HTTP: http.Server{ErrorLog: silent, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			fmt.Fprint(w, len(b), err)
		})}}
		inTasks(t, s, func(ctx context.Context, address string) error {
			if err := quick(ctx, address); err != nil {
				return err
			}
			if err := until(ctx, func() bool { return s.Stats().Open == 0 }); err != nil { // its task has ended
				return err
			}
			before, tasks := used(), len(rondo.Tasks(ctx))
			var all []bare
			defer func() {
				for _, b := range all {
					b.Close()
				}
			}()
			for i := range clients {
				b, err := connectBare(address)
				if err != nil {
					return err
				}
				all = append(all, b)
				say(b, c.begins)
				if i%100 == 99 {
					if err := until(ctx, func() bool { return s.Stats().Accepted > int64(i) }); err != nil {
						return err
					}
				}
			}
			for range 3 {
				for _, b := range all {
					say(b, c.goesOn)
				}
				if err := quick(ctx, address); err != nil {
					return err
				}
			}
			if n := len(rondo.Tasks(ctx)) - tasks; n < clients {
				t.Errorf("%d tasks for %d clients in the middle of a request", n, clients)
			}
			each := (used() - before) / clients
			t.Logf("%d clients in the middle of a %s: %d bytes each", clients, c.name, each)
			if each > c.most {
				t.Errorf("a client in the middle of a %s costs %d bytes", c.name, each)
			}
			for i, b := range all {
				say(b, c.ends)
				if i%2 == 0 {
					continue // and is not heard
				}
				if err := b.answered(ctx); err != nil {
					return err
				}
			}
			for _, b := range all {
				b.Close()
			}
			all = nil
			gone := func() bool { return s.Stats().Open <= 1 && len(rondo.Tasks(ctx)) <= tasks+2 }
			if err := rondo.Timeout(ctx, time.Minute, func(ctx context.Context) error { return until(ctx, gone) }); err != nil {
				t.Errorf("%+v, %d tasks are left: %v", s.Stats(), len(rondo.Tasks(ctx)), err)
			}
			if underRace {
				return nil // which keeps more for each goroutine that there was
			}
			// The loop ends the goroutines of tasks that have ended, but for the 64 that it keeps,
			// each with the stack of a request.
			left, kept := 0, 64*c.most
			flat := func() bool { left = (used() - before - kept) / clients; return left < 2000 }
			if err := rondo.Timeout(ctx, time.Minute, func(ctx context.Context) error { return until(ctx, flat) }); err != nil {
				t.Errorf("%d bytes of each client are left", left)
			}
			return nil
		})
	}
}

// answered wants an answer to have come.
func (b bare) answered(ctx context.Context) error {
	if err := socket.WaitRead(ctx, uintptr(b)); err != nil {
		return err
	}
	var answer [512]byte
	n, err := syscall.Read(int(b), answer[:])
	if err == nil && string(answer[:min(n, 15)]) != "HTTP/1.1 200 OK" {
		err = fmt.Errorf("the answer is %q", answer[:max(n, 0)])
	}
	return err
}

// quick makes a request on a connection of its own.
func quick(ctx context.Context, address string) error {
	c, err := socket.Dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	return askPlainly(c, bufio.NewReader(c), 1)
}

// askPlainly sends requests together and reads their answers.
func askPlainly(c net.Conn, in *bufio.Reader, n int) error {
	for range n {
		say(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	}
	for range n {
		a, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, a.Body); err != nil {
			return err
		}
		if a.StatusCode != http.StatusOK {
			return errors.New(a.Status)
		}
	}
	return nil
}

// flatRounds has 201 requests each.
var flatRounds = flag.Int("flat", 100, "how many rounds of 201 requests TestFlat makes")

// TestFlat: heap, descriptors, tasks and goroutines are the same after very many requests, on
// connections that stay and on others that come and go.
func TestFlat(t *testing.T) {
	if !peer.Watches {
		return // net/http has the connections
	}
	const conns, together = 20, 10
	rounds := *flatRounds
	if testing.Short() {
		rounds = 20
	}
	s := &httptask.Server{HTTP: http.Server{ErrorLog: silent, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rondo.Go(r.Context(), rondo.Yield)
		fmt.Fprint(w, "hello")
	})}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		var stay []net.Conn
		var ins []*bufio.Reader
		for range conns {
			c, err := socket.Dial(ctx, "tcp", address)
			if err != nil {
				return err
			}
			defer c.Close()
			stay, ins = append(stay, c), append(ins, bufio.NewReader(c))
		}
		round := func(rounds int) (heap, descriptors, tasks, goroutines int, err error) {
			for range rounds {
				err = errors.Join(err, rondo.Group(ctx, func(g *rondo.Scope) error {
					for i, c := range stay {
						g.Go(func(context.Context) error { return askPlainly(c, ins[i], together) })
					}
					return quick(g, address)
				}))
			}
			err = errors.Join(err, until(ctx, func() bool { return s.Stats().Open == conns }))
			return used(), leak.Descriptors(), len(rondo.Tasks(ctx)), runtime.NumGoroutine(), err
		}
		_, _, _, _, err := round(10)
		heap, descriptors, tasks, goroutines, err1 := round(rounds / 10)
		heap2, descriptors2, tasks2, goroutines2, err2 := round(rounds)
		t.Logf("%d requests: heap and stacks %d to %d bytes, %d and %d descriptors, %d and %d tasks, %d and %d goroutines",
			rounds*(conns*together+1), heap, heap2, descriptors, descriptors2, tasks, tasks2, goroutines, goroutines2)
		if heap2-heap > 512<<10 || descriptors2 > descriptors || tasks2 > tasks+2 || goroutines2 > goroutines+conns {
			t.Error("it is not flat")
		}
		return errors.Join(err, err1, err2)
	})
}
