package shard_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/sim"
)

// A program is a function for each shard, and what is checked of each run: how Run ended,
// and one word for how the run went.
type program struct {
	parts []func(ctx context.Context, s *shard.Shard) error
	check func(err error) string
	ends  bool // also the order in which the shards end is tried
}

// explored runs a program in all orders, or in those with up to so many deviations, and
// returns how often each word was said. make makes the program anew for each run.
func explored(t testing.TB, deviations int, make func() program) map[string]int {
	t.Helper()
	if testing.Short() {
		deviations = min(2, max(deviations, 2))
	}
	said := map[string]int{}
	sim.Config{Deviations: deviations}.ExploreCluster(t, func(ctx context.Context, w *sim.World) {
		p := make()
		said[p.check(together(ctx, w, p))]++
	})
	return said
}

// together runs a program once. All shards run when the first order is chosen.
func together(ctx context.Context, w *sim.World, p program) error {
	w.Explore(false)
	left := len(p.parts)
	begin := make([]rondo.Event, left)
	r := shard.Runner{Loops: left}
	return r.Run(ctx, func(ctx context.Context, s *shard.Shard) error {
		if s.Index() > 0 {
			if err := begin[s.Index()].Wait(ctx); err != nil {
				return err
			}
		} else {
			if err := rondo.Sleep(ctx, 1); err != nil { // until the others wait
				return err
			}
			for i := 1; i < s.Len(); i++ {
				if err := s.At(i).Loop().Post(begin[i].Set); err != nil {
					return err
				}
			}
			w.Explore(true)
		}
		err := p.parts[s.Index()](ctx, s)
		if left--; left == 0 && !p.ends {
			w.Explore(false)
		}
		return err
	})
}

// idle is the part of a shard that only serves.
func idle(context.Context, *shard.Shard) error { return nil }

// want fails the test if the words that were said are others. With -short not all are.
func want(t *testing.T, said map[string]int, words ...string) {
	t.Helper()
	got := slices.Sorted(maps.Keys(said))
	slices.Sort(words)
	for _, w := range got {
		if !slices.Contains(words, w) {
			t.Errorf("a run ended with %q, want one of %q", w, words)
		}
	}
	if len(got) != len(words) && !testing.Short() {
		t.Errorf("the runs ended with %v, want each of %q", said, words)
	}
}

// TestExploreCall: in every order a call is answered.
func TestExploreCall(t *testing.T) {
	said := explored(t, 0, func() program {
		got := 0
		return program{
			parts: []func(ctx context.Context, s *shard.Shard) error{
				func(ctx context.Context, s *shard.Shard) (err error) {
					got, err = shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) { return 7, rondo.Yield(ctx) })
					return err
				}, idle,
			},
			check: func(err error) string { return fmt.Sprint(got, err) },
		}
	})
	want(t, said, "7 <nil>")
}

var errLeft = errors.New("the caller has left")

// TestExploreCallCancelled: in every order of a call and its cancellation, the function
// has ended when Call returns, and what Call returns is true.
func TestExploreCallCancelled(t *testing.T) {
	said := explored(t, 0, func() program {
		begun, ended, said := false, false, ""
		call := func(ctx context.Context, s *shard.Shard) error {
			_, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) {
				begun = true
				defer func() { ended = true }()
				return 7, rondo.Sleep(ctx, 1)
			})
			if begun != ended {
				t.Errorf("Call has returned %v, and the function runs", err)
			}
			said = fmt.Sprintf("ran %v: %v", begun, err)
			return nil
		}
		return program{
			parts: []func(ctx context.Context, s *shard.Shard) error{
				func(ctx context.Context, s *shard.Shard) error {
					task := rondo.Go(ctx, func(ctx context.Context) error { return call(ctx, s) })
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
					task.Cancel(errLeft)
					return task.Wait(ctx)
				}, idle,
			},
			check: func(err error) string { return strings.TrimSuffix(fmt.Sprint(said, " ", err), " <nil>") },
		}
	})
	want(t, said, "ran false: "+errLeft.Error(), "ran true: "+errLeft.Error())
}

// TestExploreCallAtTheEnd: a call that comes while all shards end is answered or refused;
// it never waits for ever, and its function has ended when it returns.
func TestExploreCallAtTheEnd(t *testing.T) {
	for name, why := range map[string]error{"in order": nil, "by an error": errBad} {
		t.Run(name, func(t *testing.T) {
			said := explored(t, 3, func() program {
				running, said := 0, "no call"
				return program{
					ends: true,
					parts: []func(ctx context.Context, s *shard.Shard) error{
						func(ctx context.Context, s *shard.Shard) error {
							rondo.Go(ctx, func(ctx context.Context) error {
								got, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) {
									running++
									defer func() { running-- }()
									return 7, rondo.Sleep(ctx, 1)
								})
								switch {
								case running != 0:
									said = "Call has returned, and the function runs"
								case err == nil:
									said = fmt.Sprint(got)
								case errors.Is(err, rondo.ErrLoopClosed):
									said = "refused"
								default:
									said = "cancelled"
								}
								return nil
							})
							return nil
						},
						func(ctx context.Context, s *shard.Shard) error { return why },
					},
					check: func(err error) string {
						if err != why {
							t.Errorf("Run returned %v, want %v", err, why)
						}
						return said
					},
				}
			})
			for word := range said {
				if !slices.Contains([]string{"7", "refused", "cancelled", "no call"}, word) {
					t.Error(word)
				}
			}
			if said["cancelled"] == 0 {
				t.Errorf("the runs ended with %v", said)
			}
		})
	}
}

// TestExploreBetween: another shard may do something between two things that a task does without a
// wait, as on two processors.
func TestExploreBetween(t *testing.T) {
	said := explored(t, 0, func() program {
		c := shard.NewChan[int](2)
		seen := 0
		return program{
			parts: []func(ctx context.Context, s *shard.Shard) error{
				func(context.Context, *shard.Shard) error {
					c.TrySend(1)
					c.TrySend(2)
					return nil
				},
				func(context.Context, *shard.Shard) error {
					seen = c.Len()
					return nil
				},
			},
			check: func(err error) string { return fmt.Sprint(seen, err) },
		}
	})
	if want(t, said, "0 <nil>", "1 <nil>", "2 <nil>"); said["1 <nil>"] == 0 {
		t.Errorf("no order has the look between the two: %v", said)
	}
}

// TestExploreOther: a loop of the cluster that is no shard takes such steps too.
func TestExploreOther(t *testing.T) {
	said := map[int]int{}
	sim.Config{Deviations: 2}.ExploreCluster(t, func(ctx context.Context, w *sim.World) {
		w.Explore(false)
		c, home, seen := shard.NewChan[int](2), rondo.LoopOf(ctx), 0
		var begin rondo.Event
		rondo.Go(ctx, func(ctx context.Context) error {
			err := begin.Wait(ctx)
			c.TrySend(1)
			c.TrySend(2)
			return err
		})
		err := (&shard.Runner{Loops: 1}).Run(ctx, func(ctx context.Context, s *shard.Shard) error {
			if err := home.Post(begin.Set); err != nil {
				return err
			}
			w.Explore(true)
			err := rondo.Yield(ctx)
			seen = c.Len()
			w.Explore(false)
			return err
		})
		if err != nil {
			t.Error(err)
		}
		said[seen]++
	})
	if len(said) != 3 {
		t.Errorf("the numbers of values that were seen: %v", said)
	}
}

// TestExploreCloseBetween: Close wakes the receivers of one shard after those of another, and what
// the first do may come before it has woken the second.
func TestExploreCloseBetween(t *testing.T) {
	said := explored(t, 2, func() program {
		c := shard.NewChan[int](1)
		second, seen := false, ""
		return program{
			parts: []func(ctx context.Context, s *shard.Shard) error{
				func(ctx context.Context, s *shard.Shard) error {
					err := rondo.Sleep(ctx, 1) // until both wait
					c.Close()
					return err
				},
				func(ctx context.Context, s *shard.Shard) error {
					_, err := c.Recv(ctx)
					woken, failed := shard.Call(ctx, s.At(2), func(ctx context.Context) (bool, error) {
						err := rondo.Yield(ctx) // a task that was woken before the call has run then
						return second, err
					})
					seen = fmt.Sprint(err == shard.ErrClosed, woken)
					return failed
				},
				func(ctx context.Context, s *shard.Shard) error {
					_, _ = c.Recv(ctx)
					second = true
					return nil
				},
			},
			check: func(err error) string { return fmt.Sprint(seen, " ", err) },
		}
	})
	if want(t, said, "true false <nil>", "true true <nil>"); said["true false <nil>"] == 0 {
		t.Errorf("no order has the call before the second is woken: %v", said)
	}
}

// TestExploreChan: a Chan of one value between two shards, in every order of its sends,
// its receives and its end.
func TestExploreChan(t *testing.T) {
	said := explored(t, 0, func() program {
		c := shard.NewChan[int](1)
		var got []int
		return program{
			parts: []func(ctx context.Context, s *shard.Shard) error{
				func(ctx context.Context, s *shard.Shard) error {
					defer c.Close()
					return errors.Join(c.Send(ctx, 1), c.Send(ctx, 2))
				},
				func(ctx context.Context, s *shard.Shard) error {
					got = slices.AppendSeq(got, c.All(ctx))
					return nil
				},
			},
			check: func(err error) string { return fmt.Sprint(got, err) },
		}
	})
	want(t, said, "[1 2] <nil>")
}

// TestExploreChanSenders: two senders on two shards and a receiver on a third one, who
// closes the Chan after two values: no value comes twice, those of Sends without an error
// are received or held, and the other Sends fail.
func TestExploreChanSenders(t *testing.T) {
	for size, deviations := range map[int]int{1: 2, 2: 2} {
		said := explored(t, deviations, func() program {
			c := shard.NewChan[int](size)
			var got, sent []int
			send := func(v int) func(ctx context.Context, s *shard.Shard) error {
				return func(ctx context.Context, s *shard.Shard) error {
					for i := range 2 {
						switch err := c.Send(ctx, v+i); {
						case err == nil:
							sent = append(sent, v+i)
						case err != shard.ErrClosed:
							return err
						}
					}
					return nil
				}
			}
			return program{
				parts: []func(ctx context.Context, s *shard.Shard) error{
					func(ctx context.Context, s *shard.Shard) error {
						for range 2 {
							v, err := c.Recv(ctx)
							if err != nil {
								return err
							}
							got = append(got, v)
						}
						if c.Close(); size == 2 {
							got = slices.AppendSeq(got, c.All(ctx))
						}
						return nil
					}, send(10), send(20),
				},
				check: func(err error) string {
					inOrder := slices.IsSortedFunc(got, func(a, b int) int {
						if a/10 != b/10 {
							return 0
						}
						return a - b
					})
					lost := slices.DeleteFunc(slices.Clone(sent), func(v int) bool { return slices.Contains(got, v) })
					if err != nil || !inOrder || len(lost) != c.Len() || len(got)+len(lost) != len(sent) {
						t.Errorf("sent %v, received %v, held %d, %v", sent, got, c.Len(), err)
					}
					return fmt.Sprint(len(sent))
				},
			}
		})
		if len(said) < 2 && !testing.Short() {
			t.Errorf("Chan(%d): the numbers of values sent: %v", size, said)
		}
	}
}

// TestExploreChanCancelled: a receive that is cancelled takes a value and returns it, or
// leaves it for the next one.
func TestExploreChanCancelled(t *testing.T) {
	said := explored(t, 0, func() program {
		c := shard.NewChan[int](1)
		first, second := 0, 0
		return program{
			parts: []func(ctx context.Context, s *shard.Shard) error{
				func(ctx context.Context, s *shard.Shard) error {
					task := rondo.Go(ctx, func(ctx context.Context) error {
						first, _ = c.Recv(ctx)
						return nil
					})
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
					task.Cancel(errLeft)
					if err := task.Wait(ctx); err != nil || first > 0 {
						return err
					}
					v, err := c.Recv(ctx)
					second = v
					return err
				},
				func(ctx context.Context, s *shard.Shard) error { return c.Send(ctx, 5) },
			},
			check: func(err error) string { return fmt.Sprint(first, second, err) },
		}
	})
	want(t, said, "5 0 <nil>", "0 5 <nil>")
}

// TestExploreFirstError: in every order of the shards' beginning and end, with up to
// three deviations, the first error is that of Run.
func TestExploreFirstError(t *testing.T) {
	deviations := 3
	if testing.Short() {
		deviations = 2
	}
	sim.Config{Deviations: deviations}.ExploreCluster(t, func(ctx context.Context, w *sim.World) {
		r := shard.Runner{Loops: 2}
		ran := 0
		err := r.Run(ctx, func(ctx context.Context, s *shard.Shard) error {
			ran++
			if s.Index() == 1 {
				return errBad
			}
			return rondo.WaitCanceled(ctx)
		})
		if err != errBad || ran == 0 {
			t.Errorf("Run returned %v after %d mains", err, ran)
		}
	})
}

// TestExploreFindsAMistake: two shards that read a counter of a third one by one Call, and
// write it by another, lose an increment in some order only.
func TestExploreFindsAMistake(t *testing.T) {
	said := explored(t, 2, func() program {
		counter := 0
		add := func(ctx context.Context, s *shard.Shard) error {
			n, err := shard.Call(ctx, s.At(0), func(ctx context.Context) (int, error) { return counter, nil })
			if err != nil {
				return err
			}
			_, err = shard.Call(ctx, s.At(0), func(ctx context.Context) (int, error) { counter = n + 1; return 0, nil })
			return err
		}
		return program{
			parts: []func(ctx context.Context, s *shard.Shard) error{idle, add, add},
			check: func(err error) string { return fmt.Sprint(counter, err) },
		}
	})
	want(t, said, "1 <nil>", "2 <nil>")
}
