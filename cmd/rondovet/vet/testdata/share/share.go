// Package share writes the state of tasks on goroutines.
package share

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/socket"
)

func compute(i int) (int, error) { return i * i, nil }

func sum(ctx context.Context) (total int, err error) {
	byName := make(map[string]int)
	err = rondo.Group(ctx, func(g *rondo.Scope) error {
		for i := range 50 {
			g.Go(func(ctx context.Context) error {
				return rondo.OffloadFunc(ctx, func(context.Context) error {
					n, err := compute(i)
					total += n // want `total is written in Offload, on a goroutine, by several tasks at once: return the value, and write it in the task`
					return err
				})
			})
			g.Go(func(ctx context.Context) error {
				_, err := rondo.Offload(ctx, func(context.Context) (int, error) {
					byName[strings.Repeat("a", i)] = i // want `byName\[strings.Repeat\("a", i\)\] is written in Offload`
					return 0, nil
				})
				return err
			})
		}
		return nil
	})
	return total + len(byName), err
}

// right has what is fine: results that are returned, one task, one place for each, and locks.
func right(ctx context.Context) (total, first, second int, err error) {
	var mu sync.Mutex
	var turn rondo.Mutex
	all := make([]int, 50)
	err = rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			return rondo.OffloadFunc(ctx, func(context.Context) error { first, _ = compute(1); return nil })
		})
		g.Go(func(ctx context.Context) error {
			return rondo.OffloadFunc(ctx, func(context.Context) error { second, _ = compute(2); return nil })
		})
		for i := range 50 {
			g.Go(func(ctx context.Context) error {
				n, err := rondo.Offload(ctx, func(context.Context) (int, error) { return compute(i) })
				total += n
				return err
			})
			g.Go(func(ctx context.Context) error {
				return rondo.OffloadFunc(ctx, func(context.Context) error { all[i] = i; return nil })
			})
			g.Go(func(ctx context.Context) error {
				return rondo.OffloadFunc(ctx, func(context.Context) error {
					mu.Lock()
					total++
					mu.Unlock()
					return nil
				})
			})
			g.Go(func(ctx context.Context) error {
				if err := turn.Lock(ctx); err != nil {
					return err
				}
				defer turn.Unlock()
				return rondo.OffloadFunc(ctx, func(context.Context) error { total++; return nil })
			})
			one := rondo.Go(g, func(ctx context.Context) error {
				return rondo.OffloadFunc(ctx, func(context.Context) error { first++; return nil })
			})
			if i == 49 {
				return one.Wait(g)
			}
		}
		return nil
	})
	return total, first, second, err
}

// rounds waits for each task before it starts the next.
func rounds(ctx context.Context) (n int, err error) {
	for range 3 {
		t := rondo.Go(ctx, func(ctx context.Context) error {
			return rondo.OffloadFunc(ctx, func(context.Context) error { n++; return nil })
		})
		if err := t.Wait(ctx); err != nil {
			return n, err
		}
	}
	return n, nil
}

type server struct{ hits int }

func (s *server) handle(ctx context.Context, c net.Conn) error {
	mine := 0
	return rondo.OffloadFunc(ctx, func(context.Context) error {
		mine++
		s.hits++ // want `s.hits is written in Offload`
		return nil
	})
}

var pages int

func web(ctx context.Context, l net.Listener) error {
	s := &socket.Server{Handler: new(server).handle}
	_ = s
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_ = rondo.OffloadFunc(r.Context(), func(context.Context) error {
			pages++ // want `pages is written in Offload`
			return nil
		})
	})
	return httptask.Serve(ctx, l, mux)
}

func goroutines(ctx context.Context) (int, error) {
	n, late, told, alone := 0, false, 0, 0
	go func() {
		for range 1000 {
			n++ // want `n is written by a goroutine while the task uses it: use rondo.Offload, which returns the value, or write it in a function for Post`
		}
	}()
	timer := time.AfterFunc(time.Second, func() { late = true }) // want `late is written by a goroutine`
	done := make(chan struct{})
	go func() {
		defer close(done)
		told++
	}()
	go func() { alone++ }()
	if _, _, err := rondo.Receive(ctx, done); err != nil {
		return 0, err
	}
	timer.Stop()
	if late {
		n++
	}
	return n + told, nil
}
