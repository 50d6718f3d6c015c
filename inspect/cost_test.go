//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
)

// TestCosts: the task with long steps has been charged with them, and each task says
// who woke it.
func TestCosts(t *testing.T) {
	target := open(t, start(t, plain.program(t), "costs"))
	l := until(t, target, "the sleeper waits for the bell again", func(l *inspect.Loop) bool {
		return len(l.Tasks) == 4 && !task(t, l, "sleeper").Moved && task(t, l, "sleeper").Switches > 5 && !task(t, l, "hog").Moved
	})
	// It computed for 150 ms, 2 and 2, each time after a sleep.
	hog, sleeper := task(t, l, "hog"), task(t, l, "sleeper")
	if hog.LongestStep < 150*time.Millisecond || hog.SlowSteps < 3 || hog.Busy < 154*time.Millisecond {
		t.Errorf("hog: busy %v, the longest step %v, %d slow ones", hog.Busy, hog.LongestStep, hog.SlowSteps)
	}
	// Where the program got no processor for long there are others.
	long := func(s inspect.Step) bool {
		return s.Task == hog.ID && s.Took >= 150*time.Millisecond && s.Ago >= 0 && s.Ago+s.Took <= l.Uptime
	}
	if !slices.ContainsFunc(l.LongSteps, long) {
		t.Errorf("the long steps are %+v; want that of #%d", l.LongSteps, hog.ID)
	}
	if sleeper.WokenBy != task(t, l, "ringer").ID || hog.WokenBy != 0 {
		t.Errorf("the sleeper was woken by #%d, the hog by #%d; want #%d and the timer", sleeper.WokenBy, hog.WokenBy, task(t, l, "ringer").ID)
	}
	if sleeper.Busy == 0 || sleeper.Busy > l.Uptime {
		t.Errorf("the sleeper was busy for %v of %v", sleeper.Busy, l.Uptime)
	}
}

// TestReaders: a writer waits for so many readers.
func TestReaders(t *testing.T) {
	onLoop(t, t.Name(), func(ctx context.Context) error {
		var m rondo.RWMutex
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 2 {
				if err := m.RLock(g); err != nil {
					return err
				}
				defer m.RUnlock()
			}
			writer := g.Go(func(ctx context.Context) error {
				if err := m.Lock(ctx); err != nil {
					return nil
				}
				m.Unlock()
				return nil
			})
			writer.SetName("writer")
			l := look(g, t, t.Name())
			if w := task(t, l, "writer"); w.Readers != 2 || w.Waiting != "lock held by 2 readers" {
				t.Errorf("it waits for %q, with %d readers", w.Waiting, w.Readers)
			}
			writer.Cancel(nil)
			return nil
		})
	})
}

// TestResources: things for which tasks wait have their holder and their waiters.
func TestResources(t *testing.T) {
	target := open(t, start(t, plain.program(t), "locks"))
	// The last of them may still turn the loop though it waits.
	l := until(t, target, "all tasks wait", func(l *inspect.Loop) bool { return settled(l) && l.Running == 0 && l.Ready == 0 })
	var got []string
	for _, r := range l.Resources() {
		if r.Longest <= 0 {
			t.Errorf("%s %s: nobody has waited", r.Kind, r.Name)
		}
		who := "nobody"
		for _, k := range l.Tasks {
			if k.ID == r.Holder {
				who = k.Name
			}
		}
		got = append(got, fmt.Sprintf("%s %s %s %d", r.Kind, r.Name, who, r.Waiting))
	}
	if want := `[lock "held" holder 3 lock "lost" nobody 1 put "full" nobody 1]`; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	warnings := l.Warnings(time.Nanosecond)
	kinds := make(map[string]int)
	for _, w := range warnings {
		kinds[w.Kind]++
	}
	// Steps are long where the program got no processor.
	if kinds[inspect.WarnNobody] != 1 || kinds[inspect.WarnWait] != 5 || len(warnings)-kinds[inspect.WarnSteps] != 6 {
		t.Errorf("the warnings are %v", warnings)
	}
}
