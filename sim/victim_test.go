package sim_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestVictim fails, but only in a process that another test has started.
func TestVictim(t *testing.T) {
	if os.Getenv(victim) == "" {
		t.Skip("only for other tests to run")
	}
	t.Run("lost update", func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			if n := lost(ctx); n != 2 {
				t.Error("the count is", n)
			}
		})
	})
	t.Run("hidden", func(t *testing.T) {
		sim.Config{Seeds: 1000}.Test(t, func(ctx context.Context) {
			if n := hidden(ctx); n != 2 {
				t.Error("the count is", n)
			}
		})
	})
	t.Run("second", func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {})
		sim.Config{Seeds: 1000}.Test(t, func(ctx context.Context) {
			if sim.Choose(ctx, 10) > 2 && sim.Choose(ctx, 10) > 6 && sim.Choose(ctx, 10) >= 0 {
				t.Fatal("bad dice")
			}
		})
	})
	t.Run("two mistakes", func(t *testing.T) {
		sim.Cluster(t, func(ctx context.Context, w *sim.World) {
			n := 0
			w.Invariant("it is less than five", func() error {
				if n >= 5 {
					return fmt.Errorf("it is %d", n)
				}
				return nil
			})
			w.Host("a", func(ctx context.Context) error {
				if n > 0 && n < 5 {
					return errors.New("another mistake")
				}
				return nil
			})
			n = max(0, sim.Choose(ctx, 100)-20)
			_ = rondo.Sleep(ctx, time.Second)
		})
	})
	t.Run("turn", func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			var log rondo.Queue[int]
			n := 0
			add := func(ctx context.Context) error {
				was := n
				err := log.Put(ctx, was)
				n = was + 1
				return err
			}
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(add).SetName("one")
				g.Go(add).SetName("other")
				return nil
			})
			if n != 2 {
				t.Error("the count is", n)
			}
		})
	})
	t.Run("many", func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			n := 0
			for range 300 {
				n += sim.Choose(ctx, 2)
			}
			if n > 110 {
				t.Fatal("too many")
			}
		})
	})
	t.Run("account", checkAccount)
	bubbles := sim.Config{Goroutines: true}
	t.Run("left", func(t *testing.T) {
		bubbles.Test(t, func(ctx context.Context) { go func() { <-make(chan int) }() })
	})
	t.Run("nothing comes", func(t *testing.T) {
		bubbles.Test(t, func(ctx context.Context) { _, _, _ = rondo.Receive(ctx, make(chan int)) })
	})
	t.Run("deadlock in bubble", func(t *testing.T) {
		bubbles.Test(t, func(ctx context.Context) {
			_ = rondo.Sleep(ctx, time.Hour)
			_ = new(rondo.Event).Wait(ctx)
		})
	})
	t.Run("hash", func(t *testing.T) { t.Fatalf("hash %016x", sim.Hash(t)) })
	t.Run("order", func(t *testing.T) {
		sim.Explore(t, func(ctx context.Context) {
			if n := lost(ctx); n != 2 {
				t.Fatal("the count is", n)
			}
		})
	})
	t.Run("busy", func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			for {
				_ = rondo.Yield(ctx) //rondovet:ignore the run must not end
			}
		})
	})
	t.Run("steps", func(t *testing.T) {
		sim.Config{MaxSteps: 1000}.Test(t, func(ctx context.Context) {
			for {
				_ = rondo.Yield(ctx) //rondovet:ignore the run must not end
			}
		})
	})
	t.Run("goes on", func(t *testing.T) {
		sim.Config{MaxSteps: 10_000}.Test(t, func(ctx context.Context) {
			rondo.Go(ctx, func(ctx context.Context) error {
				for {
					_ = rondo.Sleep(ctx, time.Millisecond) //rondovet:ignore it fails when the run has ended, and goes on
				}
			}).SetName("busy")
			_ = rondo.Sleep(ctx, time.Second)
		})
	})
	t.Run("orders", func(t *testing.T) {
		sim.Config{MaxSteps: 1000}.Explore(t, func(ctx context.Context) {
			for {
				_ = rondo.Yield(ctx) //rondovet:ignore the run must not end
			}
		})
	})
	t.Run("timers", func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			rondo.Go(ctx, func(ctx context.Context) error {
				var m rondo.Mutex
				_ = m.Lock(ctx)
				return m.Lock(ctx)
			}).SetName("idler")
			for {
				_ = rondo.Sleep(ctx, time.Millisecond) //rondovet:ignore the run must not end
			}
		})
	})
	t.Run("in a bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			sim.Test(t, func(ctx context.Context) { _ = rondo.Yield(ctx); t.Error("on purpose") })
		})
	})
	t.Run("posts itself", func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			var again func()
			again = func() { _ = rondo.LoopOf(ctx).Post(again) }
			again()
			_ = rondo.WaitCanceled(ctx)
		})
	})
	t.Run("crowd", func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				for range 29 {
					g.Go(func(ctx context.Context) error {
						for {
							_ = rondo.Yield(ctx) //rondovet:ignore the run must not end
						}
					})
				}
				return nil
			})
		})
	})
	t.Run("blocked", func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			_ = rondo.OffloadFunc(ctx, func(context.Context) error { return nil }) // a wait that ends
			<-make(chan int)                                                       //rondovet:ignore it blocks the loop for the report
		})
	})
	t.Run("busy host", func(t *testing.T) {
		sim.Cluster(t, func(ctx context.Context, w *sim.World) {
			w.Host("a", func(ctx context.Context) error {
				_ = rondo.Sleep(ctx, time.Hour)
				for {
					_ = rondo.Yield(ctx) //rondovet:ignore the run must not end
				}
			})
			_ = rondo.Sleep(ctx, 2*time.Hour)
		})
	})
	t.Run("busy host in bubble", func(t *testing.T) {
		sim.Config{Goroutines: true, MaxSteps: 1000}.Cluster(t, func(ctx context.Context, w *sim.World) {
			for {
				_ = rondo.Yield(ctx) //rondovet:ignore the run must not end
			}
		})
	})
	t.Run("waits at the end", func(t *testing.T) {
		bubbles.Cluster(t, func(ctx context.Context, w *sim.World) {
			w.Host("a", waitsForNothing)
			_ = rondo.Sleep(ctx, time.Minute)
		})
	})
	t.Run("goroutine fails", func(t *testing.T) {
		sim.Config{Goroutines: true, Exact: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
			w.Host("culprit", func(ctx context.Context) error {
				err := rondo.Sleep(ctx, time.Minute)
				go t.Error("so it is")
				return errors.Join(err, rondo.Sleep(ctx, time.Hour))
			})
			_ = rondo.Sleep(ctx, 30*time.Minute)
		})
	})
	t.Run("unanswered host", func(t *testing.T) {
		sim.Cluster(t, func(ctx context.Context, w *sim.World) {
			w.Host("a", func(ctx context.Context) error {
				return rondo.OffloadFunc(ctx, func(ctx context.Context) error {
					<-ctx.Done()
					return nil
				})
			})
			_ = rondo.Sleep(ctx, time.Minute)
		})
	})
	t.Run("late hosts", func(t *testing.T) {
		sim.Config{MaxSteps: 10}.Cluster(t, func(ctx context.Context, w *sim.World) {
			for i := range 20 {
				w.Host(fmt.Sprint(i), func(ctx context.Context) error {
					fmt.Println("a host begins")
					return rondo.WaitCanceled(ctx)
				})
			}
			for {
				_ = rondo.Yield(ctx) //rondovet:ignore the run must not end
			}
		})
	})
	t.Run("busy in bubble", func(t *testing.T) {
		bubbles.Test(t, func(ctx context.Context) {
			_ = rondo.Sleep(ctx, time.Hour)
			for {
				_ = rondo.Yield(ctx) //rondovet:ignore the run must not end
			}
		})
	})
	t.Run("blocked in bubble", func(t *testing.T) {
		bubbles.Test(t, func(ctx context.Context) {
			_ = rondo.Sleep(ctx, time.Hour)
			var lock sync.Mutex
			lock.Lock()
			lock.Lock() //rondovet:ignore it blocks the loop for the report
		})
	})
	t.Run("blocked host", func(t *testing.T) {
		sim.Cluster(t, func(ctx context.Context, w *sim.World) {
			w.Host("a", func(ctx context.Context) error {
				var lock sync.Mutex
				rondo.Go(ctx, func(ctx context.Context) error {
					lock.Lock()
					return rondo.Sleep(ctx, time.Second)
				})
				_ = rondo.Sleep(ctx, time.Millisecond)
				lock.Lock()
				return nil
			})
			_ = rondo.Sleep(ctx, time.Minute)
		})
	})
	t.Run("blocked for a while", func(t *testing.T) {
		sim.Config{Seeds: 1}.Test(t, func(ctx context.Context) {
			said, says, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			os.Stderr = says
			for end := time.Now().Add(3 * time.Second); time.Now().Before(end); { // a task that computes is not blocked
			}
			done := make(chan string)
			go func() {
				line, _ := bufio.NewReader(said).ReadString('\n')
				done <- line
			}()
			t.Error(<-done) //rondovet:ignore it blocks the loop for the report
		})
	})
	t.Run("uncancelled", func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			rondo.Go(ctx, func(ctx context.Context) error {
				for {
					_ = rondo.Yield(ctx) //rondovet:ignore the task must not end
				}
			})
			t.FailNow()
		})
	})
	t.Run("unanswered", func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			_, _ = rondo.Offload(ctx, func(ctx context.Context) (int, error) {
				<-ctx.Done()
				return 0, nil
			})
		})
	})
	t.Run("unanswered at the end", func(t *testing.T) {
		sim.Cluster(t, func(ctx context.Context, w *sim.World) {
			w.Host("a", waitsForNothing)
			w.Host("b", func(context.Context) error { return errors.New("so it is") })
			_ = rondo.Sleep(ctx, time.Minute)
		})
	})
	t.Run("skipped", func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) { t.Skip("so it is") })
	})
}

// waitsForNothing is a program that, when it is cancelled, waits for what never comes.
func waitsForNothing(ctx context.Context) error {
	_ = rondo.WaitCanceled(ctx)
	return rondo.Shield(ctx, func(ctx context.Context) error {
		_, _, err := rondo.Receive(ctx, make(chan int))
		return err
	})
}

// runVictim runs one test of TestVictim in a new process, with RONDO_SEED set to
// seed, and returns what it printed.
func runVictim(t *testing.T, name, seed string, env ...string) string {
	t.Helper()
	if runtime.GOOS == "js" {
		t.Skip("this system has no processes")
	}
	c := exec.Command(os.Args[0], "-test.v", "-test.run=^TestVictim$/^"+strings.ReplaceAll(name, " ", "_")+"$")
	kind := "ends"
	if strings.HasPrefix(name, "unanswered") {
		kind = "hangs"
	}
	c.Env = append(os.Environ(), victim+"="+kind, "RONDO_SEED="+seed, "RONDO_SIM_STORE="+t.TempDir(), "RONDO_SHRINK=off")
	c.Env = append(c.Env, env...)
	out, err := c.CombinedOutput()
	if err == nil != (name == "skipped") {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// reportLine begins a report.
var reportLine = regexp.MustCompile(`(?m)^ +victim_test\.go:\d+: sim: (seed|order) \d`)

var commandLine = regexp.MustCompile(`replay: RONDO_SEED=(\S+) (go test .*)`)

// TestReplay runs the command in the report of a real test.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"lost_update", "order"} {
		text := runVictim(t, name, "")
		contains(t, text, "--- FAIL: TestVictim/"+name, "victim_test.go:", "the count is 1", "the test failed")
		if !reportLine.MatchString(text) {
			t.Errorf("the report does not begin with the line of the test that calls package sim:\n%s", text)
		}
		c := commandLine.FindStringSubmatch(text)
		if c == nil || !strings.HasSuffix(c[2], " -run '^TestVictim$/^"+name+"$' -count=1") {
			t.Fatalf("no command, or a wrong one:\n%s", text)
		}
		contains(t, runVictim(t, name, c[1]), "the count is 1", "replay: RONDO_SEED="+c[1]+" ")
	}
	if testing.Short() {
		return
	}
	text := runVictim(t, "order", "")
	shell := exec.Command("sh", "-c", commandLine.FindStringSubmatch(text)[0][len("replay: "):])
	shell.Env = append(os.Environ(), victim+"=1")
	out, err := shell.CombinedOutput()
	if err == nil {
		t.Fatalf("the command passes:\n%s", out)
	}
	contains(t, string(out), "the count is 1", commandLine.FindString(text))
}

var (
	shrunkLine = regexp.MustCompile(`shrunk: of its (\d+) choices (\d+) matter \((\d+) runs\):`)
	listLine   = regexp.MustCompile(`replay these alone: RONDO_SEED=(\S+) go test`)
	storedLine = regexp.MustCompile(`stored: (\S+);`)
)

// TestShrinkVariable: a value that is none is said.
func TestShrinkVariable(t *testing.T) {
	text := runVictim(t, "lost update", "", "RONDO_SHRINK=soon")
	contains(t, text, `not shrunk: RONDO_SHRINK="soon": want a duration as 10s, or off`)
}

// TestShrunkLong: a list that is too long for a command is in the file, from which the test
// repeats it.
func TestShrunkLong(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it runs a test thousands of times")
	}
	dir := t.TempDir()
	text := runVictim(t, "many", "", "RONDO_SHRINK=1m", "RONDO_SIM_STORE="+dir)
	contains(t, text, "too many", "stored: ")
	if strings.Contains(text, "replay these alone") || len(text) > 3000 {
		t.Errorf("%d bytes:\n%s", len(text), text)
	}
	again := runVictim(t, "many", "", "RONDO_SIM_STORE="+dir)
	contains(t, again, "too many", "stored: "+storedLine.FindStringSubmatch(text)[1])
	if len(again) > 3000 {
		t.Errorf("%d bytes:\n%s", len(again), again)
	}
}

// TestShrunk: a report has the few choices that matter, in words, and a value of
// RONDO_SEED that makes them alone. They are stored, and the test tries them first.
func TestShrunk(t *testing.T) {
	for _, c := range []struct {
		name string
		most int
		want []string
	}{
		{"hidden", 6, []string{"the count is 1", "worker-", " ran before "}},
		{"turn", 1, []string{"the count is 1", "one gave others a turn in Queue.Put"}},
		{"two mistakes", 1, []string{`invariant "it is less than five": it is `, "Choose returned 25 to main"}},
		{"second", 2, []string{"bad dice", "Choose returned 3 to main", "Choose returned 7 to main"}},
	} {
		dir := filepath.Join(t.TempDir(), "[a-") // a name as any other, and no pattern
		text := runVictim(t, c.name, "", "RONDO_SHRINK=1m", "RONDO_SIM_STORE="+dir)
		contains(t, text, c.want...)
		n := shrunkLine.FindStringSubmatch(text)
		if n == nil {
			t.Fatalf("nothing about shrinking:\n%s", text)
		}
		matter, _ := strconv.Atoi(n[2])
		runs, _ := strconv.Atoi(n[3])
		if matter > c.most || runs > 500 {
			t.Errorf("%d choices are left after %d runs:\n%s", matter, runs, text)
		}
		list := listLine.FindStringSubmatch(text)[1]
		contains(t, runVictim(t, c.name, list), c.want[0], "replay: RONDO_SEED="+list+" ", "1. after ")
		name := storedLine.FindStringSubmatch(text)[1]
		again := runVictim(t, c.name, "", "RONDO_SIM_STORE="+dir)
		contains(t, again, c.want[0], "stored: "+name, "replay: RONDO_SEED="+list+" ")
		if err := os.WriteFile(name, []byte("# nothing\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		contains(t, runVictim(t, c.name, "", "RONDO_SIM_STORE="+dir), name+" holds no choices that can be read: delete the file")
	}
}

// TestNotShrunkInBubble: a test that fails in a bubble of testing/synctest is reported, and not
// shrunk.
func TestNotShrunkInBubble(t *testing.T) {
	contains(t, runVictim(t, "in a bubble", "7", "RONDO_SHRINK=1s"), "on purpose", "sim: seed 7: the test failed", "not shrunk: the test runs in a bubble")
}

func TestLivelock(t *testing.T) {
	contains(t, runVictim(t, "busy", ""), "seed 1: livelock: no end after 20000 steps",
		"main is ready", "sim_test.TestVictim.func", "after 0s of virtual time", "RONDO_SEED=1 ")
	contains(t, runVictim(t, "timers", ""), "seed 1: livelock: no end after 20000 steps",
		"main is waiting for sleep since 1ms", "idler is waiting for lock since 20.0")
	contains(t, runVictim(t, "posts itself", ""), "seed 1: livelock: no end after 20000 steps", "main is waiting for cancellation")
	contains(t, runVictim(t, "busy host", "1"), "seed 1: livelock: no end after 20000 steps", "a: main is ",
		"after 1h0m0s of virtual time")
	text := runVictim(t, "late hosts", "1")
	if contains(t, text, "livelock: no end after 10 steps"); strings.Count(text, "a host begins") > 10 {
		t.Errorf("hosts begin when the run has ended:\n%s", text)
	}
	contains(t, runVictim(t, "busy in bubble", "1"), "seed 1: livelock: no end after ", "after 1h0m0s of virtual time")
	text = runVictim(t, "busy host in bubble", "1")
	if contains(t, text, "livelock: no end after 1000 steps", "--- FAIL: TestVictim"); strings.Contains(text, "panic: ") {
		t.Errorf("the other tests of the program do not run:\n%s", text)
	}
	contains(t, runVictim(t, "crowd", "1"), "task-2 is ready", "and 10 more tasks")
}

// TestHang has runs that no number of steps ends.
func TestHang(t *testing.T) {
	t.Parallel()
	const of = "seed 1: hang: github.com/rondo-go/rondo/sim_test.TestVictim.func"
	for _, c := range []struct {
		name, seed string
		want       []string
	}{
		{"blocked", "", []string{of, "victim_test.go:", "it is blocked on a channel; use rondo.Queue", "[chan receive"}},
		{"blocked host", "1", []string{of, "victim_test.go:", "it is blocked on a sync.Mutex, probably held by a suspended task; use rondo.Mutex"}},
		{"blocked in bubble", "1", []string{"seed 1: hang: ", "it is blocked on a sync.Mutex", "after 1h0m0s of virtual time"}},
		{"uncancelled", "", []string{"seed 1: livelock: ", "task-2 is running", "sim_test.TestVictim.func"}},
		{"unanswered", "", []string{"seed 1: sim: nothing has come from outside"}},
		{"unanswered at the end", "", []string{"seed 1: host b: so it is\n"}},
		{"unanswered host", "1", []string{"seed 1: sim: nothing has come from outside"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			contains(t, runVictim(t, c.name, c.seed), append(c.want, "RONDO_SEED=1 ")...)
		})
	}
}

// TestBlockedForAWhile: a task that waits for what runs outside the loop is named, and goes on.
func TestBlockedForAWhile(t *testing.T) {
	t.Parallel()
	text := runVictim(t, "blocked for a while", "")
	contains(t, text, "sim: seed 1: hang: github.com/rondo-go/rondo/sim_test.TestVictim.func", "it is blocked on a channel", "sim: seed 1: the test failed")
}

func TestSkipInRealTest(t *testing.T) {
	contains(t, runVictim(t, "skipped", ""), "so it is", "--- SKIP: TestVictim/skipped")
}
