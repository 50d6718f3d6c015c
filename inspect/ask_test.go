//go:build linux && (amd64 || arm64)

package inspect_test

// The calling program as it is read on other systems, tested on this one.

import (
	"context"
	"iter"
	"net"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
	"github.com/rondo-go/rondo/internal/goinspect"
)

// answered asks the loops, which all answer.
func answered() (*inspect.Program, error) { return inspect.Ask(patience) }

// taken is look with another way to take the snapshot.
func taken(ctx context.Context, t *testing.T, name string, take func() (*inspect.Program, error)) *inspect.Loop {
	t.Helper()
	p, err := rondo.Offload(ctx, func(context.Context) (*inspect.Program, error) { return take() })
	if err != nil {
		t.Fatal(err)
	}
	return loopOf(t, p, name)
}

func loopOf(t *testing.T, p *inspect.Program, name string) *inspect.Loop {
	t.Helper()
	i := slices.IndexFunc(p.Loops, func(l *inspect.Loop) bool { return l.Name == name })
	if i < 0 {
		t.Fatalf("no loop %q among %d", name, len(p.Loops))
	}
	return p.Loops[i]
}

// TestAskSame: asking the loops returns the same as reading the memory.
func TestAskSame(t *testing.T) {
	onLoop(t, "asked", func(ctx context.Context) error {
		var m rondo.Mutex
		m.Name = "accounts"
		var held rondo.Event
		return rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error { return holdFor(ctx, time.Hour, &m, &held) }).SetName("holder")
				wanting := g.Go(func(ctx context.Context) error { return holdFor(ctx, time.Hour, &m, &held) })
				wanting.SetName("wanting")
				g.Go(wanting.Wait).SetName("joiner")
				g.Go(func(ctx context.Context) error { return inCoroutine(ctx) }).SetName("puller")
				look(g, t, "asked") // until all of them wait
				asleep := func() (*inspect.Program, error) {
					for {
						p, err := inspect.Snapshot()
						if err != nil || settled(loopOf(t, p, "asked")) {
							return p, err
						}
					}
				}
				var both []*inspect.Loop
				for _, take := range []func() (*inspect.Program, error){answered, asleep} {
					both = append(both, taken(g, t, "asked", take))
				}
				same(t, both[0], both[1])
				g.Cancel(nil)
				return nil
			})
		})
	})
}

// inCoroutine sleeps in a coroutine.
func inCoroutine(ctx context.Context) error {
	next, stop := iter.Pull(func(yield func(int) bool) { _ = rondo.Sleep(ctx, time.Hour) })
	defer stop()
	next()
	return nil
}

// elapsed is what differs between two snapshots of the same.
var elapsed = regexp.MustCompile(`\d[\dhms.µn]*s`)

func same(t *testing.T, a, b *inspect.Loop) {
	t.Helper()
	if a.Name != b.Name || len(a.Tasks) != len(b.Tasks) || !a.Exact || !b.Exact || a.Held != nil || a.Timers != b.Timers || a.Offloads != b.Offloads ||
		a.Spawned != b.Spawned || a.Workers != b.Workers || len(a.Cycles) != len(b.Cycles) || a.ID != b.ID {
		t.Fatalf("the loops differ:\n%+v\n%+v", a, b)
	}
	for i, k := range a.Tasks {
		o := b.Tasks[i]
		if k.ID != o.ID || k.Name != o.Name || k.Func != o.Func || k.State != o.State || k.What != o.What || k.On != o.On ||
			k.Parent != o.Parent || k.Goroutine != o.Goroutine || len(k.Scopes) != len(o.Scopes) || (k.Owner == nil) != (o.Owner == nil) ||
			elapsed.ReplaceAllString(k.Waiting, "") != elapsed.ReplaceAllString(o.Waiting, "") {
			t.Errorf("the tasks differ:\n%+v\n%+v", k, o)
		}
		mine, theirs := inspect.Own(k.Stack), inspect.Own(o.Stack)
		if len(mine) == 0 && k.Name != "joiner" || len(mine) != len(theirs) {
			t.Errorf("%s: %v\nand %v", k.Name, mine, theirs)
			continue
		}
		for j, f := range mine {
			if o := theirs[j]; f.Func != o.Func || f.File != o.File || f.Line != o.Line {
				t.Errorf("%s: call %d is %+v and %+v", k.Name, j, f, o)
			}
		}
	}
}

// TestAskFromTask: a task may ask, and is itself in the snapshot.
func TestAskFromTask(t *testing.T) {
	onLoop(t, "asking", func(ctx context.Context) error {
		p, err := answered()
		if err != nil {
			return err
		}
		l := loopOf(t, p, "asking")
		if len(l.Tasks) != 1 || l.Tasks[0].State != "running" || l.Running != 1 || l.Held != nil ||
			!slices.ContainsFunc(l.Tasks[0].Stack, func(f inspect.Frame) bool { return strings.HasSuffix(f.Func, "TestAskFromTask.func1") }) {
			t.Errorf("%+v; want this task, running, at this call", l.Tasks[0])
		}
		return nil
	})
}

// TestAskHeld: a loop that does not answer is held, by whom, and on what; and so is another.
func TestAskHeld(t *testing.T) {
	quit, asking, other := make(chan bool), make(chan bool), make(chan bool)
	ended := make(chan error, 1)
	go func() {
		r := rondo.Runner{Name: "held too"}
		ended <- r.Run(t.Context(), func(ctx context.Context) error {
			close(other)
			<-quit //rondovet:ignore the channel that holds the loop
			return nil
		})
	}()
	pictures := make(chan *inspect.Program, 1)
	go func() {
		defer close(quit)
		<-asking
		<-other
		p, err := inspect.Ask(inspect.Holding)
		if err != nil {
			t.Error(err)
		}
		pictures <- p
	}()
	onLoop(t, "held", func(ctx context.Context) error {
		var bell rondo.Event
		rondo.Go(ctx, bell.Wait).SetName("innocent")
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		bell.Set()
		rondo.Current(ctx).SetName("culprit")
		close(asking)
		<-quit //rondovet:ignore the channel that holds the loop
		return nil
	})
	if err := <-ended; err != nil {
		t.Error(err)
	}
	p := <-pictures
	if h := loopOf(t, p, "held too").Held; h == nil || h.How != "blocked on a channel" {
		t.Errorf("the other loop is held by %+v", h)
	}
	l := loopOf(t, p, "held")
	if h := l.Held; h == nil || h.Task != 1 || h.How != "blocked on a channel" || h.For < inspect.Holding || len(inspect.Own(h.Stack)) == 0 ||
		path.Base(inspect.Own(h.Stack)[0].File) != "ask_test.go" {
		t.Errorf("held: %+v; want the channel of this test", h)
	}
	if len(l.Tasks) != 2 || task(t, l, "innocent").State != "ready" {
		t.Errorf("tasks %+v", l.Tasks)
	}
}

// TestAskTorn: a loop that had not answered, and goes on while it is read, may lead to where no
// memory is. It is not in the snapshot then, and the program goes on.
func TestAskTorn(t *testing.T) {
	if l := inspect.ReadTorn(4096); l != nil { // nothing stands as low
		t.Errorf("it has %d tasks", len(l.Tasks))
	}
	if l := inspect.ReadTorn(0); l == nil || len(l.Tasks) != 0 {
		t.Errorf("without a task it is %+v", l)
	}
}

// TestHeldByCallback: a callback holds the loop after a task was suspended, or has ended. Neither
// task is said to hold it. A goroutine whose task has ended may run it, and is not found then.
func TestHeldByCallback(t *testing.T) {
	for name, main := range map[string]func(ctx context.Context, callback func()) error{
		"suspended": func(ctx context.Context, callback func()) error {
			rondo.LoopOf(ctx).CallSoon(callback)
			return rondo.Yield(ctx)
		},
		"ended": func(ctx context.Context, callback func()) error {
			return rondo.Go(ctx, func(ctx context.Context) error {
				rondo.LoopOf(ctx).CallSoon(callback)
				return nil
			}).Wait(ctx)
		},
	} {
		begun, quit, held := make(chan bool), make(chan bool), make(chan *inspect.Held, 1)
		go func() {
			defer close(quit)
			<-begun
			for end := time.Now().Add(patience); time.Now().Before(end); {
				if p, err := inspect.Snapshot(); err != nil || p.Loops[0].Held != nil {
					if err != nil {
						t.Error(err)
						return
					}
					held <- p.Loops[0].Held
					return
				}
			}
		}()
		onLoop(t, "held", func(ctx context.Context) error {
			return main(ctx, func() {
				close(begun)
				<-quit //rondovet:ignore the channel that holds the loop
			})
		})
		select {
		case h := <-held:
			own := inspect.Own(h.Stack)
			if h.Task != 0 || name == "suspended" && (h.How != "blocked on a channel" || len(own) == 0 || path.Base(own[0].File) != "ask_test.go") {
				t.Errorf("%s: it is held by %+v; want the callback", name, h)
			}
		default:
			t.Errorf("%s: it is not said to be held", name)
		}
	}
}

// TestAskGoroutines: the goroutines that run no task are listed, and those of tasks are not.
func TestAskGoroutines(t *testing.T) {
	begun, quit := make(chan bool), make(chan bool)
	defer close(quit)
	go receives(begun, quit)
	<-begun
	onLoop(t, "asked", func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
			l := look(g, t, "asked")
			p := &inspect.Program{Loops: []*inspect.Loop{l}}
			p.AskGoroutines()
			others := 0
			for _, one := range p.Goroutines {
				if slices.ContainsFunc(l.Tasks, func(k *inspect.Task) bool { return k.Goroutine == one.ID }) {
					t.Errorf("goroutine %d runs a task", one.ID)
				}
				if own := inspect.Own(one.Stack); len(own) > 0 && strings.HasSuffix(own[0].Func, ".receives") {
					others++
				}
			}
			if others != 1 {
				t.Errorf("the goroutine that waits for a channel is listed %d times, among %d", others, len(p.Goroutines))
			}
			g.Cancel(nil)
			return nil
		})
	})
}

// receives closes begun and then waits for quit.
func receives(begun, quit chan bool) {
	close(begun)
	<-quit
}

// TestAskAddresses: what has an address is called by it.
func TestAskAddresses(t *testing.T) {
	for kind, thing := range map[string]any{"*net.TCPAddr": new(net.TCPAddr), "*string": new(string), "inspect_test.kind": kind(0)} {
		if got := inspect.TypeNameOf(thing); got != kind {
			t.Errorf("%q, want %q", got, kind)
		}
	}
}

type kind int

// TestParseStack: texts that the runtime makes, and some that it does not.
func TestParseStack(t *testing.T) {
	s, ok := inspect.ParseStack("goroutine 7 [chan receive, 2 minutes, locked to thread]:\nmain.wait[...](0xc000012345, {0x1, 0x2})\n\t/home/me/a b/main.go:12 +0x1d\n" +
		"...additional 3 frames elided...\nmain.(*T).run(...)\n\t/home/me/main.go:5\ncreated by main.main in goroutine 1\n\t/home/me/main.go:7 +0x25\n")
	if !ok || s.Goroutine != 7 || s.How != "chan receive" || !s.Cut || len(s.Frames) != 2 || s.Frames[0].Func != "main.wait[...]" ||
		s.Frames[0].Line != 12 || s.Frames[1].Func != "main.(*T).run" || s.Frames[1].Line != 5 || s.Frames[1].File != "/home/me/main.go" {
		t.Errorf("%+v, %v", s, ok)
	}
	for text, want := range map[string]struct {
		state goinspect.State
		how   string
		ok    bool
	}{
		"goroutine 7 [running]:\n\n\t\n(\n\t:\n": {goinspect.Running, "", true}, "goroutine 7 [runnable]:\n": {goinspect.Runnable, "", true},
		"goroutine 7 [syscall, 3 minutes]:\n": {goinspect.Syscall, "", true}, "goroutine 7 [sleep]:\n": {goinspect.Waiting, "sleep", true},
		"": {}, "goroutine": {}, "goroutine 7 [running]:": {}, "goroutine x [running]:\n": {}, "7 [running]:\n": {}, "goroutine 7 running\n": {},
	} {
		if s, ok := inspect.ParseStack(text); ok != want.ok || s.State != want.state || s.How != want.how {
			t.Errorf("%q: %v, %q, %v; want %+v", text, s.State, s.How, ok, want)
		}
	}
}
