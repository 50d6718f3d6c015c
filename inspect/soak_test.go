//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

var soak = flag.Duration("soak", 0, "for how long TestConsistency takes snapshots; 0: 100 of them, and 30 with -short")

// TestConsistency takes snapshots of a program that starts and ends tasks without a
// pause, and knows of each task by its name how deep it waits, through coroutines
// that resume each other. What a snapshot says
// of a task that did not move must be right; and that must be most of them, or it
// would be no use.
func TestConsistency(t *testing.T) {
	t.Parallel()
	// The collector moves stacks as often as it can.
	c := exec.Command(plain.program(t), "churn")
	c.Env = append(os.Environ(), "GOGC=1")
	target := open(t, run(t, c))
	until(t, target, "tasks come and go", func(l *inspect.Loop) bool { return len(l.Tasks) > 20 })
	var seen census
	pictures := 50
	if testing.Short() || underRace {
		pictures = 25
	}
	for began := time.Now(); *soak == 0 && seen.pictures < pictures || time.Since(began) < *soak; {
		// Some are read in portions, as snapshots of very many tasks are.
		target.Portions([]int{1 << 14, 100, 3}[seen.pictures%3])
		p := shot(t, target, inspect.Options{Stacks: true})
		if len(p.Loops) != 1 {
			t.Fatalf("%d loops, want 1", len(p.Loops))
		}
		seen.count(t, p.Loops[0])
		if t.Failed() {
			break
		}
	}
	t.Logf("%+v", seen)
	if seen.stacks == 0 || seen.whole < seen.waiting*9/10 {
		t.Errorf("of %d tasks that waited unmoved %d have a stack, %d of them a whole one", seen.waiting, seen.stacks, seen.whole)
	}
}

// A census is what was seen in all snapshots.
type census struct {
	pictures, exact, missed    int
	tasks, moved               int
	waiting, stacks, whole     int // of the tasks that waited and did not move
	named, nameless, sleepings int
}

// names are what tasks of the program are called; task-N is one that has no name
// yet.
var names = regexp.MustCompile(`^(main|maker|deep-(\d+)|task-(\d+))$`)

func (c *census) count(t *testing.T, l *inspect.Loop) {
	c.pictures++
	c.missed += l.Missed
	if l.Exact {
		c.exact++
	}
	if len(l.Cycles) > 0 {
		t.Errorf("cycles %v; want none: no task waits for itself", l.Cycles)
	}
	ids := make(map[uint64]bool)
	makers, mains := 0, 0
	for _, k := range l.Tasks {
		c.tasks++
		if ids[k.ID] {
			t.Errorf("#%d is there twice", k.ID)
		}
		ids[k.ID] = true
		m := names.FindStringSubmatch(k.Name)
		if m == nil || m[3] != "" && m[3] != fmt.Sprint(k.ID) {
			t.Errorf("#%d is called %q", k.ID, k.Name)
			continue
		}
		switch m[1] {
		case "main":
			mains++
			if k.ID != 1 {
				t.Errorf("#%d is called main", k.ID)
			}
		case "maker":
			makers++
			if k.ID < 2 || k.ID > 6 {
				t.Errorf("#%d is called maker", k.ID)
			}
		}
		switch {
		case m[3] != "":
			c.nameless++
		case m[2] != "":
			c.named++
		}
		if k.Moved {
			c.moved++
			if k.Stack != nil || k.Waiting != "" {
				t.Errorf("#%d moved, and yet is said to wait for %q at %v", k.ID, k.Waiting, k.Stack)
			}
			continue
		}
		if k.State == "waiting" {
			c.waits(t, k, m[2])
		}
	}
	if mains > 1 || makers > 5 {
		t.Errorf("%d main tasks and %d makers", mains, makers)
	}
}

// waits checks a task that waits and did not move. depth is how deep it waits, if
// its name says so.
func (c *census) waits(t *testing.T, k *inspect.Task, depth string) {
	c.waiting++
	want := map[string]string{"main": "group", "maker": "task"}[k.Name]
	if depth != "" {
		want = "sleep"
	}
	if want != "" && k.What != want {
		t.Errorf("#%d %s waits for %q, want %s", k.ID, k.Name, k.Waiting, want)
	}
	if len(k.Stack) == 0 {
		return
	}
	c.stacks++
	if !k.Cut && !k.Partial {
		c.whole++
	}
	if depth == "" || k.Partial {
		return
	}
	naps := 0
	for _, f := range k.Stack {
		if f.Func == "main.naps" {
			naps++
		}
	}
	n, err := strconv.Atoi(depth)
	if err != nil || naps != n+1 {
		t.Errorf("#%d %s waits %d calls deep:\n%v", k.ID, k.Name, naps, k.Stack)
	}
	if outermost := k.Stack[len(k.Stack)-1].Func; !strings.HasPrefix(outermost, "runtime.") {
		t.Errorf("#%d %s: the outermost call is %s", k.ID, k.Name, outermost)
	}
	c.sleepings++
}
