package main

// These tests run every row with tiny counts. None checks a time: times are for the
// program and for a quiet machine.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain lets rows start this test program as a child process, and counts
// goroutines: no side may leave one behind.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == hidden {
		if err := child(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// With the race detector a process sleeps a second before it exits, unless this
	// says otherwise. The rows start hundreds of them.
	if err := os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0")); err != nil {
		panic(err)
	}
	before := runtime.NumGoroutine()
	code := m.Run()
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		runtime.Gosched()
	}
	if left := runtime.NumGoroutine() - before; left > 0 && code == 0 {
		fmt.Printf("%d goroutines were left behind\n", left)
		code = 1
	}
	os.Exit(code)
}

func tiny() options {
	return options{
		rounds: 2, bursts: 2, burst: time.Microsecond,
		sizes: []int{3, 40}, growth: 100,
		many: 100, batches: 1, sleep: 10 * time.Microsecond,
		requests: 200, conns: 20, open: 4 * time.Millisecond,
		rest: time.Millisecond, million: 200, asleep: 20 * time.Millisecond, ready: true,
	}
}

// TestRows runs every row: it measures as many rounds as the options say.
func TestRows(t *testing.T) {
	names := make(map[string]bool)
	for _, r := range rows() {
		if names[r.name] {
			t.Errorf("two rows are called %s", r.name)
		}
		names[r.name] = true
		t.Run(r.name, func(t *testing.T) {
			o := tiny()
			switch r.name {
			case "echo-1000", "echo-10000", "open":
				// With so few connections the rivals do what they do in echo-50.
				o.servers = []string{"tasks", "session", "net"}
			}
			found, err := r.run(o)
			var skip *skipped
			if errors.As(err, &skip) {
				t.Log(skip)
			} else if err != nil {
				t.Fatal(err)
			} else if len(found) == 0 {
				t.Fatal("the row has no results")
			}
			for _, f := range found {
				rounds := o.rounds
				if regexp.MustCompile(`^p\d`).MatchString(f.What) {
					rounds = 1 // a percentile of all rounds
				}
				if len(f.Ratios) != rounds {
					t.Errorf("%s: %d rounds, want %d", f.What, len(f.Ratios), rounds)
				}
				if f.What == "" || f.Rival == "" || f.Own <= 0 || f.Theirs <= 0 {
					t.Errorf("incomplete: %+v", f)
				}
			}
		})
	}
}

// counting is a clock that counts its calls.
type counting struct{ resets, stops int }

func (c *counting) ResetTimer() { c.resets++ }
func (c *counting) StopTimer()  { c.stops++ }

// TestSidesStartAndStopOnce: without StopTimer the clean-up would count as work,
// and without ResetTimer everything would.
func TestSidesStartAndStopOnce(t *testing.T) {
	o := tiny()
	for _, d := range comparisons() {
		for side, make := range map[string]func(options) side{"rondo": d.mine, "rival": d.theirs} {
			counts := []int{1, 3, 1001}
			if d.batches {
				counts = counts[:2]
			}
			for _, n := range counts {
				var c counting
				make(o)(&c, n)
				if c != (counting{1, 1}) {
					t.Errorf("%s, %s, %d operations: %+v", d.name, side, n, c)
				}
			}
		}
	}
}

// TestSidesTakeTurns: the sides begin the bursts of a round in turn, and the fastest burst of each
// side counts.
func TestSidesTakeTurns(t *testing.T) {
	var now int64
	var order string
	cost := map[string][]int64{"a": {10, 50, 70, 20}, "b": {1, 1, 40, 60, 90, 80}}
	measured := func(name string) func(options) side {
		return func(options) side {
			return func(c clock, _ int) {
				c.ResetTimer()
				now += cost[name][0]
				c.StopTimer()
				cost[name] = cost[name][1:]
				order += name
			}
		}
	}
	d := comparison{mine: measured("a"), theirs: measured("b"), spent: func() (int64, error) { return now, nil }}
	f := d.run(options{rounds: 2, bursts: 2, burst: 1})
	// The first two of b find out how many operations make a burst.
	if order != "bb"+"ab"+"ba"+"ba"+"ab" {
		t.Errorf("the bursts were %s", order)
	}
	if !slices.Equal(f.Ratios, []float64{10. / 40, 20. / 80}) {
		t.Errorf("the ratios are %v", f.Ratios)
	}
}

// TestTurnsDoesAsManyAsItSays: the shares of the tasks add up to n for every n.
func TestTurnsDoesAsManyAsItSays(t *testing.T) {
	for tasks := 1; tasks < 12; tasks++ {
		for n := range 40 {
			sum := 0
			for i := range tasks {
				sum += share(n, tasks, i)
			}
			if sum != n {
				t.Errorf("%d tasks do %d of %d", tasks, sum, n)
			}
		}
	}
}

func TestResultMet(t *testing.T) {
	for _, c := range []struct {
		ratios          []float64
		budget          float64
		allocs, allowed int
		want            bool
	}{
		{[]float64{0.5}, 0.5, 0, unlimited, true},
		{[]float64{0.504}, 0.5, 0, unlimited, true}, // it is printed as 0.50
		{[]float64{0.506}, 0.5, 0, unlimited, false},
		{[]float64{9, 0.1, 0.4}, 0.5, 0, unlimited, true}, // the median counts
		{[]float64{0.1}, 0.5, 1, 0, false},
		{[]float64{0.1}, 0.5, 2, 2, true},
		{[]float64{0.1}, 0.5, 9, unlimited, true},
	} {
		f := result{Ratios: c.ratios, Budget: c.budget, Allocs: c.allocs, Allowed: c.allowed}
		if got := f.met(); got != c.want {
			t.Errorf("%+v: met is %v", c, got)
		}
	}
}

func TestCommandPrintsATable(t *testing.T) {
	var out, progress strings.Builder
	if err := command([]string{"-short", "-rounds", "1", "-run", "^(yield|mutex)$"}, &out, &progress); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| what | Rondo |", "| Yield ", "| Mutex ", "1 rounds a side"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "Queue") {
		t.Errorf("a row was measured that does not match:\n%s", out.String())
	}
}

func TestCommandRefuses(t *testing.T) {
	for _, args := range [][]string{{"-run", "("}, {"-nothing"}, {"-run", "no such row"}, {"yield"}} {
		if err := command(args, new(strings.Builder), new(strings.Builder)); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

// TestSkippedIsASentence: a row that cannot be measured is not a failure, and the
// table has its sentence, once.
func TestSkippedIsASentence(t *testing.T) {
	f := result{What: "it", Rival: "them", Ratios: []float64{1}, Budget: 1, Allowed: unlimited}
	half := func(options) ([]result, error) { return []result{f}, missing("The other %s was skipped.", "half") }
	rows := []row{{name: "half", section: memory, run: half}, {name: "other", section: memory, run: half}}
	d, err := measure(rows, regexp.MustCompile(""), tiny(), new(strings.Builder))
	if err != nil {
		t.Fatal(err)
	}
	text := d.markdown()
	if !strings.Contains(text, "| it |") || strings.Count(text, "The other half was skipped.") != 1 {
		t.Error(text)
	}
}

func TestReplaceTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "README.md")
	write := func(s string) {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n" + opening + "old\n" + closing + "after\n")
	for _, text := range []string{"new\n", "newer\nand longer\n"} {
		if err := replaceTable(path, text); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := "before\n" + opening + text + closing + "after\n"; string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, s := range []string{"", opening, closing + opening} {
		write(s)
		if err := replaceTable(path, "new\n"); !errors.Is(err, errNoMarkers) {
			t.Errorf("%q: %v", s, err)
		}
	}
}
