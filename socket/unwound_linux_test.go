//go:build !rondo_portable

package socket_test

import (
	"context"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/socket"
)

// The portable driver leaves the descriptors of an unwound call to the collector.

// TestGoexitInDial: a callback's Goexit unwinds the task on whose stack it runs. If
// that one dials or accepts, no descriptor is left, although no collector runs.
func TestGoexitInDial(t *testing.T) {
	before := leak.Descriptors()
	var client sync.WaitGroup
	for name, wait := range map[string]func(ctx context.Context, l *socket.Listener, turns int){
		"Dial": func(ctx context.Context, l *socket.Listener, turns int) {
			exit(rondo.LoopOf(ctx), turns)
			for {
				c, err := socket.Dial(ctx, "tcp", l.Addr().String())
				if err != nil {
					return
				}
				c.Close()
			}
		},
		"Accept": func(ctx context.Context, l *socket.Listener, turns int) {
			// So many wait to be accepted that the task yields between two of them.
			var dialled sync.WaitGroup
			for range 40 {
				dialled.Add(1)
				client.Go(func() {
					c, err := net.Dial("tcp", l.Addr().String())
					dialled.Done()
					if err == nil {
						_ = c.SetDeadline(time.Now().Add(5 * time.Second))
						_, _ = c.Read(make([]byte, 1))
						c.Close()
					}
				})
			}
			_, _ = rondo.Offload(ctx, func(context.Context) (int, error) { dialled.Wait(); return 0, nil })
			exit(rondo.LoopOf(ctx), turns)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Close()
			}
		},
	} {
		for turns := range 12 {
			var w sync.WaitGroup
			w.Go(func() {
				_ = rondo.Run(t.Context(), func(ctx context.Context) error {
					l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
					if err != nil {
						return err
					}
					defer l.Close()
					wait(ctx, l, turns)
					return nil
				})
			})
			w.Wait()
			client.Wait()
			if after := leak.Descriptors(); after > before {
				t.Fatalf("%s, Goexit in turn %d: %d descriptors before, %d after", name, turns, before, after)
			}
		}
	}
}

// exit calls Goexit in a callback after some turns of the loop.
func exit(l *rondo.Loop, turns int) {
	if turns == 0 {
		l.CallSoon(runtime.Goexit)
		return
	}
	l.CallSoon(func() { exit(l, turns-1) })
}
