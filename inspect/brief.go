package inspect

import "time"

// A Brief is what a table shows of a task. Its fields but Doing are those of Task.
type Brief struct {
	ID   uint64
	Name string
	Func string
	// Doing is what it waits for, or else, in parentheses, its state, or that it ran while the
	// snapshot was taken.
	Doing            string
	Age, Since, Busy time.Duration
	Switches         uint64
	Cancelled, Moved bool
}

// Brief returns the task in short.
func (t *Task) Brief() Brief {
	b := Brief{
		ID: t.ID, Name: t.Name, Func: t.Func, Doing: t.Waiting, Age: t.Age, Since: t.Since, Busy: t.Busy,
		Switches: t.Switches, Cancelled: t.Cancelled, Moved: t.Moved,
	}
	switch {
	case t.Moved:
		b.Doing = "(ran meanwhile)"
	case t.State == "ready":
		b.Doing = "(ready)" // of a million tasks, these have one text
	case t.State != "waiting":
		b.Doing = "(" + t.State + ")"
	}
	return b
}
