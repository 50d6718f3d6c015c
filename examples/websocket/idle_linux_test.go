package main

import (
	"context"
	"net/http"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestIdle: members who say nothing cost less than 1.5 kB of heap and stacks each, and no task.
func TestIdle(t *testing.T) {
	members := 3000
	if testing.Short() {
		members = 500
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	members = min(members, (int(files.Cur)-100)/2) // both ends are here
	quiet := rondo.Runner{NoFlightRecorder: true}  // whose record would count
	err := quiet.Run(t.Context(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			c := newChat(g)
			g.Go(func(ctx context.Context) error {
				if err := c.Serve(ctx, l); err != http.ErrServerClosed {
					return err
				}
				return nil
			})
			for range 50 { // what the first ones need stays
				fd, err := connect(g, l.Addr().String())
				if err != nil {
					return err
				}
				defer unix.Close(fd)
			}
			used, tasks := memory(), len(rondo.Tasks(ctx))
			for range members {
				fd, err := connect(g, l.Addr().String())
				if err != nil {
					return err
				}
				defer unix.Close(fd)
			}
			each := (memory() - used) / members
			t.Logf("%d idle members: %d bytes each", members, each)
			if each > 1500 {
				t.Errorf("a member costs %d bytes", each)
			}
			if now := len(rondo.Tasks(ctx)); now > tasks+5 {
				t.Errorf("%d tasks before, %d for %d members", tasks, now, members)
			}
			if len(c.members) != members+50 {
				t.Errorf("%d members", len(c.members))
			}
			return rondo.Timeout(g, time.Minute, c.Shutdown)
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// connect joins the chat by a descriptor, which costs this process no memory.
func connect(ctx context.Context, address string) (int, error) {
	c, err := socket.Dial(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if _, err := visit(c); err != nil {
		return 0, err
	}
	f, err := c.(*socket.Conn).File()
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return unix.Dup(int(f.Fd()))
}

// memory returns how many bytes heap and stacks have.
func memory() int {
	runtime.GC()
	runtime.GC() // the second frees what pools keep
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int(s.HeapAlloc + s.StackInuse)
}
