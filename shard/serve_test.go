package shard_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/socket"
)

// serve runs a server on n shards, and client beside it with its address, which all of them have.
// Then the server is shut down.
func serve(t *testing.T, n int, config shard.ServeConfig, s shard.Server, client func(address string)) {
	t.Helper()
	address := make(chan string, 1)
	done := make(chan bool)
	go func() {
		defer close(done)
		a, ok := <-address
		if !ok {
			return
		}
		client(a)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	}()
	onFirst(t, n, func(ctx context.Context, _ *shard.Shard) error {
		var mu sync.Mutex
		ready, at := 0, ""
		config.Wrap = func(_ context.Context, l net.Listener) net.Listener {
			mu.Lock()
			defer mu.Unlock()
			if ready++; ready == 1 {
				at = l.Addr().String()
			}
			if l.Addr().String() != at {
				t.Errorf("the shards listen at %s and %s", at, l.Addr())
			}
			if ready == n {
				address <- at // all shards serve
			}
			return l
		}
		err := config.Serve(ctx, "tcp", "127.0.0.1:0", s)
		if err != socket.ErrServerClosed && err != http.ErrServerClosed {
			return fmt.Errorf("Serve: %w", err)
		}
		return nil
	})
	close(address)
	<-done
}

// TestServeSpread: 64 connections on 8 shards are 8 on each, handlers and Conns agree,
// and a connection goes where one has ended.
func TestServeSpread(t *testing.T) {
	var mu sync.Mutex
	on, loops := make(map[string]int), make(map[string]*rondo.Loop)
	s := &socket.Server{Handler: func(ctx context.Context, c net.Conn) error {
		name := shard.Of(ctx).Name()
		mu.Lock()
		on[name]++
		loops[name] = shard.Of(ctx).Loop()
		mu.Unlock()
		if _, err := io.WriteString(c, name+"\n"); err != nil {
			return err
		}
		_, err := io.Copy(c, c)
		mu.Lock()
		on[name]--
		mu.Unlock()
		return err
	}}
	serve(t, 8, shard.ServeConfig{}, s, func(address string) {
		dial := func() (net.Conn, string) {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return nil, ""
			}
			var name string
			if _, err := fmt.Fscanln(c, &name); err != nil {
				t.Error(err)
			}
			return c, name
		}
		conns := make(map[string][]net.Conn)
		for range 64 {
			c, name := dial()
			conns[name] = append(conns[name], c)
		}
		mu.Lock()
		for name, n := range on {
			if n != 8 {
				t.Errorf("%d connections on %s", n, name)
			}
		}
		mu.Unlock()
		if s.Conns() != 64 || len(conns) != 8 {
			t.Errorf("Conns returns %d, %d shards serve", s.Conns(), len(conns))
		}
		conns["shard-5"][0].Close()
		for s.Conns() == 64 {
			runtime.Gosched() // until that shard knows
		}
		counted := make(chan bool)
		mu.Lock()
		err := loops["shard-5"].Post(func() { close(counted) }) // the step that counts has ended then
		mu.Unlock()
		if err != nil {
			t.Error(err)
			return
		}
		<-counted
		c, name := dial()
		if name != "shard-5" {
			t.Errorf("shard-5 has the fewest connections, and %s got the next", name)
		}
		c.Close()
		for _, cs := range conns {
			for _, c := range cs {
				c.Close()
			}
		}
	})
	if s.Conns() != 0 {
		t.Errorf("Conns returns %d at the end", s.Conns())
	}
}

// TestServeNoReset: a storm of clients connects while the server is shut down. A
// client that gets a connection is served; the others are refused, and none is reset.
func TestServeNoReset(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		s := &socket.Server{Handler: func(ctx context.Context, c net.Conn) error {
			_, err := io.Copy(c, c)
			return err
		}}
		config := shard.ServeConfig{Listen: socket.ListenConfig{ReusePort: reuse}}
		var clients sync.WaitGroup
		var served, refused atomic.Int64
		enough := make(chan bool)
		serve(t, 2, config, s, func(address string) {
			for range 20 {
				clients.Go(func() {
					for {
						c, err := net.Dial("tcp", address)
						if err != nil {
							refused.Add(1)
							return
						}
						if err := echo(c); err != nil {
							t.Errorf("reuse %v, after %d connections: %v", reuse, served.Load(), err)
							return
						}
						if served.Add(1) == 300 {
							close(enough)
						}
					}
				})
			}
			<-enough
		})
		clients.Wait()
		t.Logf("reuse %v: %d served, %d refused", reuse, served.Load(), refused.Load())
	}
}

// echo expects what it sends to come back.
func echo(c net.Conn) error {
	defer c.Close()
	if _, err := io.WriteString(c, "hello"); err != nil {
		return err
	}
	back := make([]byte, 5)
	_, err := io.ReadFull(c, back)
	return err
}

// TestServeShutdownLate: a Shutdown that gives up waiting cancels the handlers on every
// shard, and closes their connections.
func TestServeShutdownLate(t *testing.T) {
	var causes sync.Map
	s := &socket.Server{Handler: func(ctx context.Context, c net.Conn) error {
		if _, err := io.WriteString(c, "x"); err != nil {
			return err
		}
		_, err := c.Read(make([]byte, 1))
		causes.Store(shard.Of(ctx).Index(), context.Cause(ctx))
		return errors.Join(err, rondo.Shield(ctx, func(context.Context) error { // which fails at once
			_, err := c.Read(make([]byte, 1))
			return err
		}))
	}}
	var conns []net.Conn
	serve(t, 3, shard.ServeConfig{}, s, func(address string) {
		for range 6 {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			conns = append(conns, c)
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
	})
	for i := range 3 {
		if cause, _ := causes.Load(i); cause != socket.ErrServerClosed {
			t.Errorf("the cause on shard %d is %v", i, cause)
		}
	}
	for _, c := range conns {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a connection is still open")
		}
		c.Close()
	}
}

// TestServeMaxConns: it counts the connections of all shards, and is divided among listeners of
// their own.
func TestServeMaxConns(t *testing.T) {
	for n, config := range map[int]shard.ServeConfig{2: {}, 1: {Listen: socket.ListenConfig{ReusePort: true}}} {
		if config.Listen.ReusePort && runtime.GOOS != "linux" {
			continue
		}
		s := &socket.Server{MaxConns: 3, Handler: func(ctx context.Context, c net.Conn) error {
			if _, err := io.WriteString(c, "x"); err != nil {
				return err
			}
			_, err := io.Copy(io.Discard, c)
			return err
		}}
		serve(t, n, config, s, func(address string) {
			var conns []net.Conn
			for i := range 5 {
				c, err := net.Dial("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				conns = append(conns, c)
				if i < 3 {
					if _, err := c.Read(make([]byte, 1)); err != nil {
						t.Error(err)
					}
				}
			}
			if s.Conns() != 3 {
				t.Errorf("%d shards: %d connections are served", n, s.Conns())
			}
			for i := range 2 {
				conns[i].Close()
				if _, err := conns[3+i].Read(make([]byte, 1)); err != nil {
					t.Errorf("%d shards, connection %d: %v", n, 3+i, err)
				}
			}
		})
	}
}

// TestServeShutdownFull: a Shutdown when MaxConns is reached ends the idle sessions, and lets the
// handlers finish, with one listener and with one for each shard.
func TestServeShutdownFull(t *testing.T) {
	session := func(c net.Conn) func(ctx context.Context) error {
		return func(context.Context) error {
			_, err := io.CopyN(c, c, 5)
			return err
		}
	}
	handler := func(_ context.Context, c net.Conn) error {
		_, err := io.Copy(c, c)
		return err
	}
	hello := func(c net.Conn) {
		if _, err := io.WriteString(c, "hello"); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
			t.Error(err)
		}
	}
	for i := range 4 {
		config := shard.ServeConfig{Listen: socket.ListenConfig{ReusePort: i&1 > 0}}
		if config.Listen.ReusePort && runtime.GOOS != "linux" {
			continue
		}
		s := &socket.Server{MaxConns: 2, Session: session}
		if i&2 > 0 {
			s = &socket.Server{MaxConns: 2, Handler: handler}
		}
		serve(t, 1, config, s, func(address string) {
			var conns [2]net.Conn
			for i := range conns {
				c, err := net.Dial("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				t.Cleanup(func() { c.Close() })
				hello(c)
				conns[i] = c
			}
			if s.Session != nil {
				return // Shutdown does not wait for these clients
			}
			var ending sync.WaitGroup
			defer ending.Wait()
			ending.Go(func() { _ = s.Shutdown(t.Context()) })
			for c, err := net.Dial("tcp", address); err == nil; c, err = net.Dial("tcp", address) {
				c.Close()
			}
			conns[0].Close()
			for s.Conns() > 1 {
				runtime.Gosched() // until the shard knows that there is room
			}
			for range 3 {
				hello(conns[1])
			}
			conns[1].Close()
		})
	}
}

// TestServeTLS: with TLS in its ServeConfig, a socket.Server speaks TLS on all shards.
func TestServeTLS(t *testing.T) {
	pair := httptest.NewUnstartedServer(nil)
	pair.StartTLS()
	defer pair.Close()
	client := &tls.Config{RootCAs: pair.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, ServerName: "example.com"}
	s := &socket.Server{Handler: func(_ context.Context, c net.Conn) error {
		_, err := io.Copy(c, c)
		return err
	}}
	serve(t, 2, shard.ServeConfig{TLS: &tls.Config{Certificates: pair.TLS.Certificates}}, s, func(address string) {
		for range 4 {
			c, err := tls.Dial("tcp", address, client)
			if err != nil {
				t.Error(err)
				return
			}
			if err := echo(c); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestServeLimits: an address counts for all shards together, with one listener and with one
// for each, and the counters of all shards stay when they have ended.
func TestServeLimits(t *testing.T) {
	for _, config := range []shard.ServeConfig{{}, {Listen: socket.ListenConfig{ReusePort: true}}} {
		if config.Listen.ReusePort && runtime.GOOS != "linux" {
			continue
		}
		s := &socket.Server{Limits: socket.Limits{ConnsPerAddr: 3}, Handler: func(ctx context.Context, c net.Conn) error {
			_, err := io.Copy(c, c)
			return err
		}}
		serve(t, 2, config, s, func(address string) {
			served := 0
			for range 8 {
				c, err := net.Dial("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				_, _ = io.WriteString(c, "x")
				if n, _ := c.Read(make([]byte, 1)); n == 1 {
					served++
				}
			}
			if served != 3 {
				t.Errorf("%d of 8 connections are served", served)
			}
		})
		if got := s.Stats(); got != (socket.Stats{Accepted: 8, RefusedByAddr: 5}) {
			t.Errorf("after the end: %+v", got)
		}
	}
}

// TestServeSession: sessions are served on all shards, and idle ones end with the
// server.
func TestServeSession(t *testing.T) {
	var on sync.Map
	s := &socket.Server{Session: func(c net.Conn) func(ctx context.Context) error {
		buf := make([]byte, 100)
		return func(ctx context.Context) error {
			on.Store(shard.Of(ctx).Index(), true)
			n, err := c.Read(buf)
			if err == nil {
				_, err = c.Write(buf[:n])
			}
			return err
		}
	}}
	serve(t, 2, shard.ServeConfig{}, s, func(address string) {
		for range 4 {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { c.Close() })
			if _, err := io.WriteString(c, "hello"); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range 2 {
		if _, ok := on.Load(i); !ok {
			t.Errorf("nothing was served on shard %d", i)
		}
	}
}

// TestServeMisuse: what Serve refuses.
func TestServeMisuse(t *testing.T) {
	s := &socket.Server{Handler: func(context.Context, net.Conn) error { return nil }}
	err := rondo.Run(t.Context(), func(ctx context.Context) error { return shard.Serve(ctx, "tcp", "127.0.0.1:0", s) })
	if !errors.Is(err, rondo.ErrNoLoop) {
		t.Errorf("on a loop that is no shard: %v", err)
	}
	onFirst(t, 2, func(ctx context.Context, me *shard.Shard) error {
		if err := shard.Serve(ctx, "tcp", "127.0.0.1:x", s); err == nil {
			t.Error("an address that is none")
		}
		err := rondo.Timeout(ctx, 10*time.Millisecond, func(ctx context.Context) error { return shard.Serve(ctx, "tcp", "127.0.0.1:0", s) })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a deadline: %v", err)
		}
		return nil
	})
}

// TestShutdownInHandler: a Shutdown in a handler of the same Server, which it would wait for, is
// the handler's panic, on each shard.
func TestShutdownInHandler(t *testing.T) {
	var failed atomic.Int64
	s := new(socket.Server)
	s.Handler = func(ctx context.Context, c net.Conn) error { return s.Shutdown(ctx) }
	s.OnError = func(_ net.Conn, err error) {
		if strings.Contains(err.Error(), "would wait for itself") {
			failed.Add(1)
		}
	}
	serve(t, 3, shard.ServeConfig{}, s, func(address string) {
		for range 3 {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.ReadAll(c)
			c.Close()
		}
	})
	if failed.Load() != 3 {
		t.Errorf("%d of 3 handlers have panicked", failed.Load())
	}
}

// TestServeWithoutHandler: a Server that cannot serve leaves no listener open.
func TestServeWithoutHandler(t *testing.T) {
	onFirst(t, 2, func(ctx context.Context, me *shard.Shard) error {
		for _, reuse := range []bool{false, true} {
			c := &shard.ServeConfig{Listen: socket.ListenConfig{ReusePort: reuse}}
			before := leak.Descriptors()
			func() {
				defer func() {
					if got := fmt.Sprint(recover()); !strings.Contains(got, "without a Handler") {
						t.Error(got)
					}
				}()
				_ = c.Serve(ctx, "tcp", "127.0.0.1:0", new(socket.Server))
			}()
			if after := leak.Descriptors(); after != before {
				t.Errorf("ReusePort %v: %d descriptors before, %d after", reuse, before, after)
			}
		}
		return nil
	})
}
