package inspect

// The warnings of the page: what keeps loops from turning, which tasks
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

func newFaults(p *Program) faults {
	f := faults{room: faultBytes}
	for _, v := range p.faults(mostNamed) {
		text := v.String()
		if v.Loop != "" {
			text = clip(v.Loop) + ": " + text
		}
		f.add(text, p.stackOf(v))
	}
	return f
}

// stackOf returns the stack that shows what a verdict says.
func (p *Program) stackOf(v Verdict) []Frame {
	for _, l := range p.Loops {
		if v.Kind == VerdictHeld && l.Name == v.Loop && l.Held != nil {
			return l.Held.Stack
		}
	}
	return nil
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
