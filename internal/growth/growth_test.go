package growth_test

// The law: what an operation costs for each thing that it is asked to work on stays the same,
// however many there are of anything. Allocations are counted. Time is that of the processor, so
// that nothing depends on what else a machine does, and is only compared with itself:
// the least of some rounds, at sizes that differ by a factor of 30 to 100, with room for what
// memory that does not fit into caches costs. An operation that looks at everything is far beyond.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

const (
	room   = 16 // how many times the time at one size it may be at the next larger one
	rounds = 6  // at most; one, if the first is good enough
)

// A row says how something is done beside n of something else.
type row struct {
	name   string // what is done, and n of what there are
	covers string // the exported operations that it is about, as tables of the folder api name them
	sizes  []int  // nil: 10, 1,000 and 30,000
	do     func(ctx context.Context, n int, m *meter)
}

// at returns the sizes of the row, without the largest one in a short test.
func (r *row) at() []int {
	sizes := r.sizes
	if sizes == nil {
		sizes = []int{10, 1000, 30_000}
	}
	if testing.Short() {
		return sizes[:min(2, len(sizes))]
	}
	return sizes
}

// A meter measures parts of a row at one size.
type meter struct {
	order []string
	took  map[string]float64 // ns a unit, the least so far
	made  map[string]float64 // allocations a unit, the least so far
}

// time measures fn, which does something for each of a number of units.
func (m *meter) time(part string, units int, fn func()) {
	percent := debug.SetGCPercent(-1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := spent()
	fn()
	took := float64(spent()-start) / float64(units)
	runtime.ReadMemStats(&after)
	debug.SetGCPercent(percent)
	made := float64(after.Mallocs-before.Mallocs) / float64(units)
	if old, ok := m.took[part]; ok {
		m.took[part], m.made[part] = min(old, took), min(m.made[part], made)
		return
	}
	m.order = append(m.order, part)
	m.took[part], m.made[part] = took, made
}

// repeat measures fn, which does something once and can be repeated.
func (m *meter) repeat(part string, fn func()) {
	fn()
	for range 4 {
		m.time(part, 50, func() {
			for range 50 {
				fn()
			}
		})
	}
}

// faults says which parts have taken more than room times as long at a size than at the one
// before, or made more allocations.
func faults(sizes []int, meters []*meter) (out []string) {
	for i := 1; i < len(sizes); i++ {
		for _, part := range meters[i].order {
			less, more := meters[i-1].took[part], meters[i].took[part]
			// What takes less than 60 ns found all in a cache: beside it memory would look like
			// growth. A look at each of 30,000 things takes 30 µs or more.
			if more > room*max(less, 60) {
				out = append(out, fmt.Sprintf("%s: %.0f ns with %d, %.0f ns with %d", part, less, sizes[i-1], more, sizes[i]))
			}
			less, more = meters[i-1].made[part], meters[i].made[part]
			if more > 2*less+1.5 {
				out = append(out, fmt.Sprintf("%s: %.1f allocations with %d, %.1f with %d", part, less, sizes[i-1], more, sizes[i]))
			}
		}
	}
	return out
}

// run measures a row, and returns its lines of the table.
func (r *row) run(t *testing.T) (lines []string) {
	sizes, meters := r.at(), []*meter(nil)
	for range sizes {
		meters = append(meters, &meter{took: make(map[string]float64), made: make(map[string]float64)})
	}
	var wrong []string
	for range rounds {
		for i, n := range sizes {
			err := rondo.Run(t.Context(), func(ctx context.Context) error { r.do(ctx, n, meters[i]); return nil })
			if err != nil {
				t.Fatalf("%s: %v", r.name, err)
			}
		}
		if wrong = faults(sizes, meters); wrong == nil {
			break
		}
	}
	for _, w := range wrong {
		t.Errorf("%s: %s", r.name, w)
	}
	for _, part := range meters[0].order {
		line := fmt.Sprintf("%-26s %-34s", r.name, part)
		for i, n := range sizes {
			line += fmt.Sprintf(" | %6d: %7.0f ns %5.1f", n, meters[i].took[part], meters[i].made[part])
		}
		lines = append(lines, line)
	}
	return lines
}

// TestGrowth measures every row. With -v it prints the table.
func TestGrowth(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			for _, line := range r.run(t) {
				t.Log(line)
			}
		})
	}
}

// rows returns the table.
func rows() []row { return slices.Concat(crowds(), waits(), works()) }

// simple are operations that neither wait nor have anything to do with how much there is: they
// read or write a field, or make a value.
const simple = `
	Event.WaitCase Future.WaitCase Queue.GetCase Queue.PutCase Task.WaitCase After
	Handle.When Handed Loop.Name Task.ID Task.Err Task.Done Future.Done Future.Task
	Scope.String Reason.String SignalError.Error PanicError.Error PanicError.Format PanicError.Unwrap
	WaitCanceled WaitCancelled Runner.Run SleepUntil Every Deadline
	broadcast.Reader.NextCase broadcast.Subscription.NextCase broadcast.Subscription.Err
	broadcast.Subscription.Skipped broadcast.Watch.Value broadcast.Watch.Reader broadcast.NewWatch
	shard.Shard.At shard.Shard.Index shard.Shard.Len shard.Shard.Loop shard.Shard.Name shard.Shard.String
	shard.Runner.Run shard.Serve shard.ServeConfig.Serve shard.ServeConfig.ServeListener
	coro.Coroutine.PanicStack coro.Coroutine.Status coro.Generator.PanicStack coro.Generator.Result coro.Status.String
`

// TestEveryOperation: each exported operation is in a row, or among those that are simple.
func TestEveryOperation(t *testing.T) {
	known := strings.Fields(simple)
	for _, r := range rows() {
		known = append(known, strings.Fields(r.covers)...)
	}
	exported := operations(t)
	for _, name := range exported {
		if !slices.Contains(known, name) {
			t.Errorf("%s is in no row of the table of growth", name)
		}
	}
	for _, name := range known {
		if !slices.Contains(exported, name) {
			t.Errorf("%s is in the table of growth, and there is no such operation", name)
		}
	}
}

var operation = regexp.MustCompile(`(?m)^(?:func|method \(\*?(\w+)(?:\[.*?\])?\)) (\w+)[\[(]`)

// operations returns the exported functions and methods that the law is about.
func operations(t *testing.T) (names []string) {
	for _, p := range []string{"rondo", "broadcast", "shard", "coro", "socket"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "api", p+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range operation.FindAllStringSubmatch(string(text), -1) {
			if p == "socket" && m[1] != "Server" {
				continue
			}
			name := strings.TrimPrefix(m[1]+"."+m[2], ".")
			if p != "rondo" {
				name = p + "." + name
			}
			names = append(names, name)
		}
	}
	if len(names) < 150 {
		t.Fatalf("only %d operations were found", len(names))
	}
	return names
}
