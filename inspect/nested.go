package inspect

// The stacks of a task and of the coroutines nested in it are joined. A task
// that resumes a coroutine of its own is parked in the call of next meanwhile; the
// coroutine may wait in the loop in its place, or resume another. All of these
// stacks are one: the calls of a coroutine come above those of the goroutine that
// resumed it. If one of them cannot be read, the stack is marked as partial.

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// maxNested bounds how many of them are believed in.
const maxNested = 1 << 20

// maxNestedBytes bounds how much of their list is read.
const maxNestedBytes = 64 << 20

// readNested reads which coroutines are nested in which task; only those in the
// task at the given address, if that is not 0.
func (r *reader) readNested(head record, only uint64) {
	r.nested = make(map[uint64][]goinspect.Goroutine)
	at, n := head.pair(layout.LoopNested)
	size := r.size(layout.NestedSize)
	if n == 0 || n > maxNested || int(n)*size > maxNestedBytes {
		return
	}
	b := make([]byte, int(n)*size)
	if r.program.Memory().Read(at, b) != nil {
		return
	}
	for i := range int(n) {
		e := record{r.layout, b[i*size : (i+1)*size]}
		if in := e.uint64(layout.NestedIn); in != 0 && (only == 0 || in == only) {
			r.nested[in] = append(r.nested[in], goinspect.Goroutine{Record: e.uint64(layout.NestedG), ID: e.uint64(layout.NestedID)})
		}
	}
}

// A nest is the coroutines nested in one task.
type nest struct {
	gs       []goinspect.Goroutine
	stacks   []goinspect.Stack
	resumers []uint64 // the records of those that have resumed each; nil if that cannot be known
}

// readStacks is step 3.
func (r *reader) readStacks() {
	for from := 0; from < len(r.tasks); from += piece {
		r.readStacksOf(r.tasks[from:min(from+piece, len(r.tasks))])
	}
}

func (r *reader) readStacksOf(tasks []*seen) {
	var gs, nested []goinspect.Goroutine
	for _, s := range tasks {
		if r.wanted(s) {
			gs = append(gs, goroutine(s.worker))
			nested = append(nested, r.nested[s.addr]...)
		}
	}
	stacks, of := r.program.Stacks(append(gs, nested...)), r.nest(nested)
	of.stacks = stacks[len(gs):]
	for _, s := range tasks {
		if r.wanted(s) {
			r.setStack(s, stacks[0], of.first(len(r.nested[s.addr])))
			stacks = stacks[1:]
		}
	}
}

// setStack says where s is, by the stacks of its goroutine and of the coroutines
// nested in it.
func (r *reader) setStack(s *seen, stack goinspect.Stack, nested nest) {
	t := s.info
	t.Goroutine, t.Thread, t.Cut = stack.Goroutine, stack.Thread, stack.Cut
	t.Stack = r.framesOf(stack.Frames)
	if where(t.Stack) != resumes {
		return
	}
	chain, whole := r.chain(s, nested)
	t.Partial = !whole
	if len(chain) == 0 {
		return
	}
	if innermost := chain[0]; innermost.State != goinspect.Waiting {
		t.Thread = innermost.Thread
	}
	t.Stack = r.join(chain, t.Stack)
	t.Cut = t.Cut || slices.ContainsFunc(chain, func(s goinspect.Stack) bool { return s.Cut })
}

// nest finds out who has resumed some coroutines.
func (r *reader) nest(gs []goinspect.Goroutine) nest {
	if len(gs) == 0 {
		return nest{}
	}
	return nest{gs: gs, resumers: r.program.Resumers(gs)}
}

// first takes the first few coroutines out of a nest.
func (n *nest) first(few int) nest {
	out := nest{gs: n.gs[:few], stacks: n.stacks[:few]}
	n.gs, n.stacks = n.gs[few:], n.stacks[few:]
	if n.resumers != nil {
		out.resumers, n.resumers = n.resumers[:few], n.resumers[few:]
	}
	return out
}

// wanted reports whether the stack of s is asked for and can be read.
func (r *reader) wanted(s *seen) bool {
	return s.worker.b != nil && (r.options.Stacks || slices.Contains(r.options.StacksOf, s.info.ID))
}

// sampled is by how many workers it is found out how coroutines are linked.
const sampled = 16

// maxChain bounds how many coroutines are resumed by each other.
const maxChain = 256

// chain returns the stacks of the coroutines whose calls come above those of s,
// which has resumed one, the innermost first. It reports whether they are all of
// them: the last of a task that is not running is suspended in the loop.
//
// The innermost has called the loop, so the loop knows it. From there it goes by
// who has resumed whom, because one in between need not have called the loop.
func (r *reader) chain(s *seen, n nest) ([]goinspect.Stack, bool) {
	if n.resumers == nil {
		return r.inOrder(n)
	}
	end := s.worker.uint64(layout.WorkerG)
	for i, stack := range n.stacks {
		if stack.Goroutine != n.gs[i].ID || where(r.framesOf(stack.Frames)) == resumes {
			continue
		}
		if chain, ok := r.upTo(end, stack, n.resumers[i], n); ok && (s.info.State == "running") != (where(r.framesOf(stack.Frames)) == inLoop) {
			return chain, true
		}
	}
	return nil, false
}

// upTo returns the stacks from one coroutine on, which the one with the given
// record has resumed, up to the goroutine whose record is end. It reports whether
// it came there.
func (r *reader) upTo(end uint64, innermost goinspect.Stack, resumer uint64, n nest) ([]goinspect.Stack, bool) {
	chain := []goinspect.Stack{innermost}
	for resumer != 0 && resumer != end && len(chain) < maxChain {
		next, of := goinspect.Stack{}, uint64(0)
		i := slices.IndexFunc(n.gs, func(g goinspect.Goroutine) bool { return g.Record == resumer })
		// Of a coroutine that has ended, another may have taken the record.
		if i >= 0 && n.stacks[i].Goroutine == n.gs[i].ID {
			next, of = n.stacks[i], n.resumers[i]
		} else {
			unknown := []goinspect.Goroutine{{Record: resumer}}
			next, of = r.program.Stacks(unknown)[0], r.program.Resumers(unknown)[0]
		}
		// One that waits for its turn has been resumed by nobody.
		if of == resumer || where(r.framesOf(next.Frames)) != resumes {
			return nil, false
		}
		chain, resumer = append(chain, next), of
	}
	return chain, resumer == end && end != 0
}

// inOrder is chain where it is not known which coroutine has resumed which. One
// that was made later was made by one that was made earlier, or was resumed by it:
// the numbers of goroutines grow. It is certain only if there is just one.
func (r *reader) inOrder(n nest) ([]goinspect.Stack, bool) {
	var out []goinspect.Stack
	for i, s := range n.stacks {
		if s.Goroutine != n.gs[i].ID || s.State == goinspect.Unknown || s.State == goinspect.Dead || where(r.framesOf(s.Frames)) == awaitsTurn {
			continue
		}
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b goinspect.Stack) int {
		if first, second := r.rank(a), r.rank(b); first != second {
			return first - second
		}
		return cmp.Compare(b.Goroutine, a.Goroutine)
	})
	return out, len(out) > 0 && r.rank(out[0]) == 0
}

// rank orders the coroutines of a chain: the one that resumes no other is the
// innermost.
func (r *reader) rank(s goinspect.Stack) int {
	if where(r.framesOf(s.Frames)) == resumes {
		return 1
	}
	return 0
}

// inner returns the stacks of the coroutines that a goroutine has resumed, the
// innermost first, with those that the loop does not know: it looks through all
// goroutines of the program. It reports whether they are all of them.
func (r *reader) inner(of goinspect.Goroutine, nested []goinspect.Goroutine) ([]goinspect.Stack, bool) {
	known := slices.Clone(nested)
	known = append(known, r.goroutines(0, sampled)...) // Coroutines, too.
	resumed, ok := r.program.Resumed(known)
	if !ok {
		return nil, false
	}
	var chain []goinspect.Stack
	for at := of.Record; len(chain) < maxChain; {
		next, ok := resumed[at]
		if !ok {
			return nil, false
		}
		stack := r.program.Stacks([]goinspect.Goroutine{next})[0]
		if stack.State == goinspect.Unknown || stack.State == goinspect.Dead {
			return nil, false
		}
		chain = append([]goinspect.Stack{stack}, chain...)
		if where(r.framesOf(stack.Frames)) != resumes {
			return chain, true
		}
		at = next.Record
	}
	return nil, false
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
