package rondo

import (
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/leak"
)

// placement returns where each goroutine of a loop is parked. It is the model of
// the permutation in baton.go.
func placement(t *testing.T, l *Loop) map[*slot]string {
	t.Helper()
	at := make(map[*slot]string)
	park := func(s *slot, who string) {
		if s == nil {
			return
		}
		if other, taken := at[s]; taken {
			t.Fatalf("%s and %s are parked in one slot", other, who)
		}
		at[s] = who
	}
	if direct {
		park(l.runTask.worker.at, "Run")
	} else {
		park(l.runSlot, "Run")
	}
	for task := range l.tasks() {
		if task.worker != nil {
			park(task.worker.at, task.Name())
		}
	}
	for i, w := range l.idle {
		if int(w.index) != i {
			t.Fatalf("idle worker %d has index %d", i, w.index)
		}
		park(w.at, "an idle worker")
	}
	return at
}

// An ignorant observer makes each step go by pick, and does nothing else.
type ignorant struct{}

func (ignorant) observe(event) {}

// TestNextIsPick: the short way to the next task takes the tasks in the order of the long one,
// and counts what that counts.
func TestNextIsPick(t *testing.T) {
	type outcome struct {
		order         []int
		ready         int // how many tasks were ready, at all steps together
		steps, turned uint64
		switches      uint64
	}
	run := func(seed uint64, o observer) (out outcome) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		err := Run(context.Background(), func(ctx context.Context) error {
			l := scopeOf(ctx).loop
			l.observer = o
			defer func() { l.observer = nil }()
			// The clock decides neither when the driver is asked nor who gives way.
			timeless := func() { l.pace.Look, l.pace.Since = math.MaxUint64, math.MaxInt64/2 }
			timeless()
			var asleep WaitList
			err := Group(ctx, func(g *Scope) error {
				started, limit := 0, 1+rnd.IntN(200)
				var body func(ctx context.Context) error
				begin := func(n int) {
					for ; n > 0 && started < limit; n-- {
						started++
						g.Go(body)
					}
				}
				body = func(ctx context.Context) error {
					me := started
					for range rnd.IntN(30) {
						timeless()
						out.order = append(out.order, me)
						for task := range l.tasks() {
							if task.state == stateReady {
								out.ready++
							}
						}
						switch rnd.IntN(9) {
						case 0:
							begin(rnd.IntN(40))
						case 1:
							asleep.WakeAll()
						case 2:
							asleep.Wake()
						case 3:
							l.CallSoon(func() { out.order = append(out.order, -me) })
						case 4:
							l.current.yield()
						case 5, 6:
							if asleep.Len() < started/2 {
								if err := asleep.Park(ctx, Reason{What: "test"}); err != nil {
									return err
								}
								continue
							}
							fallthrough
						default:
							if err := Yield(ctx); err != nil {
								return err
							}
						}
					}
					return nil
				}
				begin(8)
				for l.live > 1 || asleep.Len() > 0 {
					if rnd.IntN(4) == 0 {
						l.current.yield() // also if no other task can run
					}
					asleep.Wake()
					timeless()
					if err := Yield(g); err != nil {
						return err
					}
				}
				return nil
			})
			out.steps, out.turned, out.switches = l.steps, l.stats.Turns, l.stats.Switches
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for seed := range uint64(40) {
		short, long := run(seed, nil), run(seed, ignorant{})
		if !slices.Equal(short.order, long.order) {
			t.Fatalf("seed %d: the orders differ: %v and %v", seed, short.order, long.order)
		}
		if short.ready != long.ready {
			t.Fatalf("seed %d: %d tasks and %d were ready", seed, short.ready, long.ready)
		}
		if short.steps != long.steps || short.turned != long.turned || short.switches != long.switches {
			t.Fatalf("seed %d: steps, turns and switches are %d, %d, %d and %d, %d, %d", seed,
				short.steps, short.turned, short.switches, long.steps, long.turned, long.switches)
		}
	}
}

// TestShortWay: the short way is taken when a turn begins, and within a turn also if something was
// posted meanwhile; but a turn does not begin on it if the driver must be asked.
func TestShortWay(t *testing.T) {
	if !direct {
		return // there is none
	}
	err := Run(context.Background(), func(ctx context.Context) error {
		l, me, over := scopeOf(ctx).loop, Current(ctx), false
		Go(ctx, func(ctx context.Context) error {
			for !over {
				if err := Yield(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		for _, c := range []struct {
			begins, posted, want bool
		}{{true, false, true}, {false, false, true}, {false, true, true}, {true, true, false}} {
			if err := Yield(ctx); err != nil { // the other task is the next one
				return err
			}
			l.pace.Look, l.pace.Since = math.MaxUint64, math.MaxInt64/2
			if l.batch = 1; c.begins {
				l.batch = 0
			}
			if c.posted {
				if err := l.Post(func() {}); err != nil {
					return err
				}
			}
			s := l.next(me, true)
			if s != nil {
				s.swap()
				l.arrive(me)
			}
			if taken := s != nil; taken != c.want {
				t.Errorf("a turn begins: %v, something was posted: %v: the short way is taken: %v", c.begins, c.posted, taken)
			}
		}
		over = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPostBetweenTurns: when tasks that yield keep the loop busy, what a goroutine has posted runs
// in the next turn all the same.
func TestPostBetweenTurns(t *testing.T) {
	err := Run(context.Background(), func(ctx context.Context) error {
		l := scopeOf(ctx).loop
		return Group(ctx, func(g *Scope) error {
			ran, over := false, false
			for range 2 {
				g.Go(func(ctx context.Context) error {
					for !over {
						if err := Yield(ctx); err != nil {
							return err
						}
					}
					return nil
				})
			}
			if err := Yield(g); err != nil {
				return err
			}
			posted := make(chan error)
			go func() { posted <- l.Post(func() { ran = true }) }()
			if err := <-posted; err != nil {
				return err
			}
			for range 3 {
				l.pace.Look, l.pace.Since = math.MaxUint64, math.MaxInt64/2 // the clock ends no turn
				if err := Yield(g); err != nil {
					return err
				}
			}
			if over = true; !ran {
				t.Error("it has not run")
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestBatonPermutation makes random transfers among tasks that start, wake each
// other, nest coroutines and end. All goroutines but the running one are parked,
// one in each slot.
func TestBatonPermutation(t *testing.T) {
	steps := 300_000
	if testing.Short() {
		steps = 20_000
	}
	for seed := range uint64(4) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		before := runtime.NumGoroutine()
		err := Run(context.Background(), func(ctx context.Context) error {
			l := scopeOf(ctx).loop
			var asleep WaitList
			var act func(ctx context.Context, depth int) error
			act = func(ctx context.Context, depth int) error {
				for steps > 0 && rnd.IntN(40) > 0 {
					steps--
					if steps%64 == 0 {
						if got := len(placement(t, l)); got != l.workers {
							t.Fatalf("%d goroutines are parked in %d slots", got, l.workers)
						}
					}
					switch n := rnd.IntN(10); {
					case n < 3 && l.live < 50:
						Go(ctx, func(ctx context.Context) error { return act(ctx, 0) })
					case n < 6:
						asleep.Wake()
					case n < 7 && asleep.Len() < l.live-2:
						if err := asleep.Park(ctx, Reason{What: "test"}); err != nil {
							return err
						}
					case n < 8 && depth < 3:
						next, stop := iter.Pull(func(yield func(error) bool) { yield(act(ctx, depth+1)) })
						err, _ := next()
						stop()
						if err != nil {
							return err
						}
					default:
						if err := Yield(ctx); err != nil {
							return err
						}
					}
				}
				return nil
			}
			for steps > 0 {
				if err := act(ctx, 0); err != nil {
					return err
				}
				asleep.WakeAll()
				if err := Yield(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		waitGoroutines(t, before)
		steps = 50_000
	}
}

// waitGoroutines fails the test if more goroutines than before are left.
func waitGoroutines(t *testing.T, before int) {
	t.Helper()
	if left := leak.Settle(before); left > before {
		t.Errorf("%d goroutines are left", left-before)
	}
}

// TestRetireSurplus makes random transfers, which scatter the goroutines over the
// slots, and then has the goroutine of Run retire a random number of idle workers.
// So many end, unless the slots of the others' births have tasks parked in them, and
// the loop goes on.
func TestRetireSurplus(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 2))
		before := runtime.NumGoroutine()
		err := Run(context.Background(), func(ctx context.Context) error {
			l := scopeOf(ctx).loop
			var asleep WaitList
			act := func(ctx context.Context) error {
				for rnd.IntN(4) > 0 {
					if rnd.IntN(3) == 0 {
						if err := asleep.Park(ctx, Reason{What: "test"}); err != nil {
							return err
						}
					} else if err := Yield(ctx); err != nil {
						return err
					}
				}
				return nil
			}
			for range 50 {
				for range rnd.IntN(60) {
					Go(ctx, act)
				}
				for range rnd.IntN(60) {
					asleep.Wake()
				}
				// When nothing can run, the timer's callback runs on the goroutine of Run.
				l.CallLater(1, func() { retireSome(t, l, rnd) })
				if err := Sleep(ctx, 2); err != nil {
					return err
				}
			}
			for asleep.Len() > 0 {
				asleep.WakeAll()
				if err := Yield(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		waitGoroutines(t, before)
	}
}

// TestRetireInPassing: a surplus worker in whose home a task is parked ends when that task runs.
func TestRetireInPassing(t *testing.T) {
	if !direct {
		return // every worker is parked where it was born
	}
	ended := 0
	for seed := range uint64(10) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		before := runtime.NumGoroutine()
		err := Run(context.Background(), func(ctx context.Context) error {
			l, over := scopeOf(ctx).loop, false
			l.surplus.since = math.MaxInt64 / 2 // no period ends
			var asleep WaitList
			act := func(ctx context.Context) error {
				for !over && rnd.IntN(4) > 0 {
					if rnd.IntN(2) == 0 {
						if err := asleep.Park(ctx, Reason{What: "test"}); err != nil {
							return err
						}
					} else if err := Yield(ctx); err != nil {
						return err
					}
				}
				return nil
			}
			for range 20 {
				for range rnd.IntN(40) {
					Go(ctx, act)
				}
				for range rnd.IntN(40) {
					asleep.Wake()
				}
				for first := true; first || l.live > asleep.Len()+1; first = false {
					if err := Yield(ctx); err != nil {
						return err
					}
				}
			}
			at := placement(t, l)
			var ends []*worker
			for _, w := range l.idle {
				if who, taken := at[&w.home]; taken && who != "an idle worker" && who != "Run" {
					ends = append(ends, w)
				}
			}
			l.surplus.n = len(l.idle) + l.live
			over = true
			for asleep.WakeAll(); l.live > 1; {
				if err := Yield(ctx); err != nil {
					return err
				}
			}
			l.surplus.clear()
			for i, w := range ends {
				if !w.home.over {
					t.Errorf("seed %d: of %d surplus workers with a task in their home, number %d lives", seed, len(ends), i)
				}
			}
			ended += len(ends)
			if got := len(placement(t, l)); got != l.workers {
				t.Errorf("%d goroutines are parked in %d slots", got, l.workers)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		waitGoroutines(t, before)
	}
	if ended == 0 {
		t.Error("no surplus worker had a task in its home: this tests nothing")
	}
}

// TestRetireAtTheEnd: only the goroutine of Run retires workers, also when the last task ends.
func TestRetireAtTheEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	ran := false
	err := Run(context.Background(), func(ctx context.Context) error {
		l := scopeOf(ctx).loop
		err := Group(ctx, func(g *Scope) error {
			for range 20 {
				g.Go(func(ctx context.Context) error { return Yield(ctx) })
			}
			return nil
		})
		l.surplus = surplus{n: len(l.idle), due: true, since: math.MaxInt64 / 2}
		l.CallSoon(func() { ran = true })
		l.batch = 0
		return err
	})
	if err != nil || !ran {
		t.Errorf("Run returned %v; what was to be called is: %v", err, ran)
	}
	waitGoroutines(t, before)
}

// retireSome retires a random number of idle workers, if the caller is the
// goroutine of Run.
func retireSome(t *testing.T, l *Loop, rnd *rand.Rand) {
	if !direct || l.runTask.worker.at != nil {
		return // without direct every worker is parked where it was born
	}
	workers, idle := slices.Clone(l.idle), len(l.idle)
	want := rnd.IntN(idle + 1)
	l.surplus.n, l.surplus.due = want, true
	l.retireSurplus()
	if got := idle - len(l.idle); got != want-l.surplus.n || l.surplus.stuck != l.surplus.n || l.surplus.due {
		t.Fatalf("%d of %d idle workers ended, %d of %d are still surplus, due again: %v", got, idle, l.surplus.n, want, l.surplus.due)
	}
	for _, w := range workers {
		if known := l.goroutines.Has(w.id); known == w.home.over {
			t.Fatalf("of a goroutine whose worker has ended: %v, the loop knows: %v", w.home.over, known)
		}
	}
	l.surplus.n = 0
	at := placement(t, l)
	if len(at) != l.workers {
		t.Fatalf("%d goroutines are parked in %d slots", len(at), l.workers)
	}
	if l.surplus.stuck == 0 {
		return
	}
	for _, w := range l.idle {
		if who := at[&w.home]; who == "an idle worker" || who == "Run" {
			t.Fatalf("%d workers are still surplus, and the slot of one's birth has %s", l.surplus.stuck, who)
		}
	}
}

// TestWorkersOfRun: the goroutine of Run makes the workers, so no task's stack grows
// for that, also if tasks start while others wait.
func TestWorkersOfRun(t *testing.T) {
	creator := regexp.MustCompile(`created by .* in goroutine (\d+)`)
	err := Run(context.Background(), func(ctx context.Context) error {
		run := strconv.FormatUint(scopeOf(ctx).loop.runTask.worker.id, 10)
		seen := make(map[uint64]bool)
		err := Group(ctx, func(g *Scope) error {
			for range 200 {
				g.Go(func(ctx context.Context) error {
					seen[Current(ctx).worker.id] = true
					stack := make([]byte, 64<<10)
					stack = stack[:runtime.Stack(stack, false)]
					if m := creator.FindSubmatch(stack); m == nil || string(m[1]) != run {
						t.Errorf("a worker was not made by goroutine %s, which is Run's:\n%s", run, stack)
					}
					return Sleep(ctx, time.Millisecond)
				})
			}
			return nil
		})
		if len(seen) < 2 {
			t.Error("one worker ran all tasks: this tests nothing")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A runWatch counts how often the goroutine of Run has picked who runs next.
type runWatch struct {
	run   *Task
	picks int
}

func (w *runWatch) observe(e event) {
	if e.kind == taskParked && e.task == w.run {
		w.picks++
	}
}

// TestRunIsLeftAlone: nothing goes through the goroutine of Run if there are workers.
func TestRunIsLeftAlone(t *testing.T) {
	if !direct {
		return // every switch does
	}
	err := Run(context.Background(), func(ctx context.Context) error {
		l, over := scopeOf(ctx).loop, false
		seen := &runWatch{run: l.runTask}
		l.observer = seen // and no switch goes the short way
		defer func() { l.observer = nil }()
		yields := func(ctx context.Context) error {
			for !over {
				if err := Yield(ctx); err != nil {
					return err
				}
			}
			return nil
		}
		for len(l.idle) > 0 || l.live == 1 {
			Go(ctx, yields)
			if err := Yield(ctx); err != nil {
				return err
			}
		}
		check := func(what string) error {
			before := seen.picks
			for range 10 {
				l.pace.Look, l.pace.Since = math.MaxUint64, math.MaxInt64/2 // the driver is not asked
				if err := Yield(ctx); err != nil {
					return err
				}
			}
			if n := seen.picks - before; n > 0 {
				t.Errorf("%s: the goroutine of Run was switched to %d times", what, n)
			}
			return nil
		}
		if err := check("no worker is idle"); err != nil {
			return err
		}
		over = true
		for l.live > 1 {
			if err := Yield(ctx); err != nil {
				return err
			}
		}
		over = false
		Go(ctx, yields)
		err := check("a worker is idle")
		over = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWorkersOfPull: it makes those that the sequences of Pull run in, too.
func TestWorkersOfPull(t *testing.T) {
	creator := regexp.MustCompile(`created by .* in goroutine (\d+)`)
	err := Run(context.Background(), func(ctx context.Context) error {
		run := strconv.FormatUint(scopeOf(ctx).loop.runTask.worker.id, 10)
		for range 200 {
			next, _ := Pull(ctx, func(yield func(string) bool) {
				stack := make([]byte, 64<<10)
				yield(string(stack[:runtime.Stack(stack, false)]))
			})
			stack, _ := next()
			if m := creator.FindStringSubmatch(stack); m == nil || m[1] != run {
				t.Fatalf("a worker was not made by goroutine %s, which is Run's:\n%s", run, stack)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSurplus: workers that a burst of tasks left idle are retired after a while,
// also if nothing happens meanwhile.
func TestSurplus(t *testing.T) {
	err := Run(context.Background(), func(ctx context.Context) error {
		l := scopeOf(ctx).loop
		const burst = 5 * surplusKeep
		var gate Event
		err := Group(ctx, func(g *Scope) error {
			for range burst {
				g.Go(gate.Wait)
			}
			for gate.waiters.Len() < burst {
				if err := Yield(g); err != nil {
					return err
				}
			}
			gate.Set()
			return nil
		})
		if err != nil || l.workers < burst {
			t.Fatalf("%d workers for %d tasks, %v", l.workers, burst, err)
		}
		// This is as if so much time had passed that they were found idle once, and
		// it were nearly time to look again.
		l.surplus.since = l.now - surplusAfter
		l.lookForSurplus()
		l.surplus.clear()
		l.surplus.since = l.now - surplusAfter + int64(time.Millisecond)
		turns, sleeps, want := l.stats.Turns, uint64(0), surplusKeep+2
		for ; l.workers > want && sleeps < 500; sleeps++ { // on a busy machine one may be over before it has begun
			if err := Sleep(ctx, 20*time.Millisecond); err != nil {
				return err
			}
		}
		if l.workers > want || l.live != 1 {
			t.Errorf("%d workers are left, and %d tasks; want %d at most", l.workers, l.live, want)
		}
		if turns = l.stats.Turns - turns; turns > 10*sleeps {
			t.Errorf("the loop turned %d times meanwhile", turns)
		}
		placement(t, l)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
