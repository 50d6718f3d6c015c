package inspect

// This file makes the warnings of the page: what keeps loops from turning, which tasks
// wait for each other in a cycle, and what could not be read.

// A fault is what the page shows in red.
type fault struct {
	Text  string
	Stack []Frame
}

// faults are the warnings for which there is room.
type faults struct {
	Rows []fault
	More int // those for which there is none
	room space
}

// mostNamed is how many tasks of a cycle the page names.
const mostNamed = 8

func newFaults(p *Picture) faults {
	f := faults{room: faultBytes}
	for _, l := range p.Loops {
		if h := l.Held; h != nil {
			who := ""
			if h.Task != 0 {
				who = " by " + clip(l.label(h.Task))
			}
			f.add(clip(l.Name)+" is held for "+short(h.For)+who+": "+h.How+"; "+h.Advice, h.Stack)
		}
	}
	names := p.names()
	for i, ring := range p.Rings {
		if f.More > 0 {
			f.More += len(p.Rings) - i
			break
		}
		f.add("CYCLE: "+cycleText(len(ring), mostNamed, func(i int) string { return clip(names(ring[i])) }), nil)
	}
	for _, l := range p.Loops {
		names := l.names()
		for i, cycle := range l.Cycles {
			if f.More > 0 {
				f.More += len(l.Cycles) - i
				break
			}
			f.add("CYCLE in "+clip(l.Name)+": "+cycleText(len(cycle), mostNamed, func(i int) string { return clip(names(cycle[i])) }), nil)
		}
	}
	for _, l := range p.Loops {
		if l.Short != "" {
			f.add(clip(l.Name)+": "+l.Short, nil)
		}
	}
	return f
}

// add adds a warning, if there is room for it and for all before it. Its stack is left out
// if there is room for the text alone.
func (f *faults) add(text string, stack []Frame) {
	if f.More > 0 {
		f.More++
		return
	}
	row, texts := fault{Text: text}, []string{text}
	for _, call := range own(stack) {
		if len(row.Stack) == mostFrames {
			break
		}
		call.Func, call.File = clip(call.Func), clip(call.File)
		row.Stack, texts = append(row.Stack, call), append(texts, call.Func, call.File)
	}
	left := f.room
	if !left.take(60+20*len(row.Stack), texts...) {
		left, row.Stack = f.room, nil
		if !left.take(60, text) {
			f.More = 1
			return
		}
	}
	f.room, f.Rows = left, append(f.Rows, row)
}
