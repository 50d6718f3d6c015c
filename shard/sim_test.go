package shard_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// simulated runs main on n shards of a simulated cluster.
func simulated(t *testing.T, seeds, n int, main func(ctx context.Context, s *shard.Shard) error, check func(seed int, err error)) {
	t.Helper()
	seed := 0
	sim.Config{Seeds: seeds, SeedsShort: seeds / 10}.Cluster(t, func(ctx context.Context, w *sim.World) {
		seed++
		r := shard.Runner{Loops: n}
		check(seed, r.Run(ctx, main))
	})
}

// TestSimCalls: in every order that seeds find, calls there and back have their
// results, and each runs once.
func TestSimCalls(t *testing.T) {
	var ran []int
	orders := make(map[string]bool)
	simulated(t, 200, 2, func(ctx context.Context, s *shard.Shard) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 2 {
				id := 2*s.Index() + i
				g.Go(func(ctx context.Context) error {
					got, err := shard.Call(ctx, s.At(1-s.Index()), func(ctx context.Context) (int, error) {
						ran = append(ran, id)
						return id, rondo.Yield(ctx)
					})
					if got != id {
						t.Errorf("call %d returned %d, %v", id, got, err)
					}
					return err
				})
			}
			return nil
		})
	}, func(seed int, err error) {
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		orders[string([]byte{byte('0' + ran[0]), byte('0' + ran[1]), byte('0' + ran[2]), byte('0' + ran[3])})] = true
		slices.Sort(ran)
		if !slices.Equal(ran, []int{0, 1, 2, 3}) {
			t.Errorf("seed %d: the functions that ran: %v", seed, ran)
		}
		ran = nil
	})
	if len(orders) < 6 && !testing.Short() {
		t.Errorf("only the orders %v were found", orders)
	}
}

// TestSimCallCancelled: whether the deadline comes before, in or after the call, fn has
// ended when Call returns.
func TestSimCallCancelled(t *testing.T) {
	begun, ended, timedOut := 0, 0, 0
	simulated(t, 200, 2, func(ctx context.Context, s *shard.Shard) error {
		if s.Index() == 1 {
			return nil
		}
		for i := range 5 {
			err := rondo.Timeout(ctx, time.Duration(i)*time.Millisecond, func(ctx context.Context) error {
				_, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) {
					begun++
					defer func() { ended++ }()
					return 0, rondo.Sleep(ctx, 2*time.Millisecond)
				})
				return err
			})
			if begun != ended {
				t.Errorf("Call returned %v while fn runs", err)
			}
			if errors.Is(err, context.DeadlineExceeded) {
				timedOut++
			} else if err != nil {
				return err
			}
		}
		return nil
	}, func(seed int, err error) {
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	})
	if timedOut == 0 || ended == timedOut {
		t.Errorf("%d calls ended, %d timed out", ended, timedOut)
	}
}

// TestSimChan: values arrive in order and once, also when waits for them are cancelled
// at any moment.
func TestSimChan(t *testing.T) {
	simulated(t, 200, 2, func(ctx context.Context, s *shard.Shard) error {
		c := chanOf(s)
		if s.Index() == 0 {
			for i := range 20 {
				for {
					err := rondo.Timeout(ctx, time.Millisecond, func(ctx context.Context) error { return c.Send(ctx, i) })
					if err == nil {
						break
					}
					if !errors.Is(err, context.DeadlineExceeded) {
						return err
					}
				}
				if err := rondo.Sleep(ctx, time.Duration(i%3)*time.Millisecond); err != nil {
					return err
				}
			}
			c.Close()
			return nil
		}
		for want := 0; ; {
			got := -1
			err := rondo.Timeout(ctx, time.Millisecond, func(ctx context.Context) (err error) { got, err = c.Recv(ctx); return err })
			switch {
			case err == nil && got != want:
				t.Errorf("received %d, want %d", got, want)
				return nil
			case err == nil:
				want++
			case errors.Is(err, shard.ErrClosed):
				if want != 20 {
					t.Errorf("received %d of 20 values", want)
				}
				return nil
			case !errors.Is(err, context.DeadlineExceeded):
				return err
			}
			if err := rondo.Sleep(ctx, time.Duration(want%4)*time.Millisecond); err != nil {
				return err
			}
		}
	}, func(seed int, err error) {
		simChan = nil
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	})
}

var simChan *shard.Chan[int]

// chanOf returns the Chan of this run.
func chanOf(*shard.Shard) *shard.Chan[int] {
	if simChan == nil {
		simChan = shard.NewChan[int](2)
	}
	return simChan
}

// TestSimFirstError: in every order the first error cancels all shards, and is that of
// Run.
func TestSimFirstError(t *testing.T) {
	simulated(t, 100, 3, func(ctx context.Context, s *shard.Shard) error {
		if s.Index() == 1 {
			return errBad
		}
		rondo.Go(ctx, func(ctx context.Context) error { return rondo.WaitCancelled(ctx) })
		return rondo.WaitCancelled(ctx)
	}, func(seed int, err error) {
		if err != errBad {
			t.Errorf("seed %d: Run returned %v", seed, err)
		}
	})
}

// TestSimServe: in a simulation a connection cannot be handed to another shard, and Serve
// says so.
func TestSimServe(t *testing.T) {
	simulated(t, 20, 2, func(ctx context.Context, s *shard.Shard) error {
		err := shard.Serve(ctx, "tcp", ":7", &socket.Server{Handler: func(context.Context, net.Conn) error { return nil }})
		if err == nil || !strings.Contains(err.Error(), "each shard is a host of its own") {
			t.Errorf("Serve returned %v", err)
		}
		return nil
	}, func(_ int, err error) {
		if err != nil {
			t.Error(err)
		}
	})
}
