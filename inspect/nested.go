package inspect

// This file joins the stacks of a task and of the coroutines nested in it. A task
// that resumes a coroutine of its own is parked in the call of next meanwhile; the
// coroutine may wait in the loop in its place, or resume another. All of these
// stacks are one: the calls of a coroutine come above those of the goroutine that
// resumed it.

import (
	"slices"
	"strings"

	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// maxNested bounds how many of them are believed in.
const maxNested = 1 << 20

// readNested reads which coroutines are nested in which task.
func (r *reader) readNested(head record) {
	r.nested = make(map[uint64][]goinspect.Goroutine)
	at, n := head.pair(layout.LoopNested)
	if n == 0 || n > maxNested {
		return
	}
	size := r.size(layout.NestedSize)
	b := make([]byte, int(n)*size)
	if r.program.Memory().Read(at, b) != nil {
		return
	}
	for i := range int(n) {
		e := record{r.layout, b[i*size : (i+1)*size]}
		in := e.uint64(layout.NestedIn)
		r.nested[in] = append(r.nested[in], goinspect.Goroutine{Record: e.uint64(layout.NestedG), ID: e.uint64(layout.NestedID)})
	}
}

// readStacks is step 3.
func (r *reader) readStacks() {
	var gs []goinspect.Goroutine
	for _, s := range r.tasks {
		if !r.wanted(s) {
			continue
		}
		gs = append(gs, goroutine(s.worker))
		gs = append(gs, r.nested[s.addr]...)
	}
	stacks := r.program.Stacks(gs)
	for _, s := range r.tasks {
		if !r.wanted(s) {
			continue
		}
		t, stack := s.info, stacks[0]
		t.Goroutine, t.Thread, t.Cut = stack.Goroutine, stack.Thread, stack.Cut
		nested := r.nested[s.addr]
		t.Stack = r.framesOf(stack.Frames)
		if chain := r.chain(t.Stack, nested, stacks[1:1+len(nested)]); len(chain) > 0 {
			if innermost := chain[0]; innermost.State != goinspect.Waiting {
				t.Thread = innermost.Thread
			}
			t.Stack = r.join(chain, t.Stack)
		}
		stacks = stacks[1+len(nested):]
	}
}

// wanted reports whether the stack of s is asked for and can be read.
func (r *reader) wanted(s *seen) bool {
	return s.worker.b != nil && (r.options.Stacks || slices.Contains(r.options.StacksOf, s.info.ID))
}

// chain returns the stacks of the nested coroutines whose calls come above the
// task's own, the innermost first. stacks are those of the coroutines.
func (r *reader) chain(own []Frame, nested []goinspect.Goroutine, stacks []goinspect.Stack) []goinspect.Stack {
	if len(nested) == 0 || where(own) != resumes {
		return nil
	}
	var out []goinspect.Stack
	for i, s := range stacks {
		if s.Goroutine != nested[i].ID || s.State == goinspect.Unknown || s.State == goinspect.Dead || where(r.framesOf(s.Frames)) == awaitsTurn {
			continue
		}
		out = append(out, s)
	}
	// One that was made later was made by one that was made earlier, or was
	// resumed by it: the numbers of goroutines grow.
	slices.SortStableFunc(out, func(a, b goinspect.Stack) int {
		if first, second := r.rank(a), r.rank(b); first != second {
			return first - second
		}
		if a.Goroutine > b.Goroutine {
			return -1
		}
		return 1
	})
	return out
}

// rank orders the coroutines of a chain: the one that resumes no other is the
// innermost.
func (r *reader) rank(s goinspect.Stack) int {
	if where(r.framesOf(s.Frames)) == resumes {
		return 1
	}
	return 0
}

func (r *reader) join(chain []goinspect.Stack, own []Frame) []Frame {
	var out []Frame
	for _, s := range chain {
		out = append(out, r.framesOf(s.Frames)...)
	}
	return append(out, own...)
}

// A place is where a goroutine stands, as far as coroutines go.
type place int

const (
	elsewhere  place = iota
	inLoop           // it is suspended in the loop
	resumes          // it has resumed a coroutine and waits until that yields
	awaitsTurn       // it is a coroutine that has yielded
)

// where says by the innermost calls where a goroutine stands. Every switch goes
// through the functions that iter.Pull makes; yield is inside the coroutine's own.
func where(stack []Frame) place {
	for i, f := range stack {
		switch pkg := f.Package(); {
		case pkg == "iter":
			if i+1 < len(stack) && stack[i+1].Package() == module {
				return inLoop
			}
			if strings.HasPrefix(f.Func, "iter.Pull") && strings.Contains(f.Func, ".func1.") {
				return awaitsTurn
			}
			return resumes
		case pkg != "runtime" && !strings.HasPrefix(pkg, "internal/"):
			return elsewhere
		}
	}
	return elsewhere
}
