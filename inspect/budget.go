package inspect

// A snapshot has bounds: tasks, time, and memory that it keeps.

import (
	"fmt"
	"time"
	"unsafe"
)

// A budget is what is left for a snapshot of all loops of a program.
type budget struct {
	options Options
	began   time.Time
	kept    int64  // bytes, roughly
	short   string // what ran out, in words; "" if nothing has
}

// late reports whether no time is left.
func (b *budget) late() bool {
	if most := b.options.MaxTime; most > 0 && time.Since(b.began) > most {
		b.short = fmt.Sprintf("has taken %s, the most that it may", short(most))
	}
	return b.short != ""
}

// over reports whether no time or no memory is left.
func (b *budget) over() bool {
	if most := b.options.MaxMemory; !b.late() && most > 0 && b.kept > most {
		b.short = fmt.Sprintf("takes %d MB of memory, the most that it may", most/1_000_000)
	}
	return b.short != ""
}

// A task takes so many bytes, without its texts: with it its place in the list, and
// in the ring.
const perTask = int64(unsafe.Sizeof(Task{})) + 8 + 3*8

// A goroutine takes so many bytes, with its place in the list.
const perGoroutine = int64(unsafe.Sizeof(Goroutine{})) + 8

// keep counts what is kept of a task.
func (b *budget) keep(t *Task) {
	b.kept += perTask + int64(len(t.Name)+len(t.Waiting)) + int64(len(t.Scopes))*int64(unsafe.Sizeof(Scope{}))
}

// keepBrief counts what is kept of a task in short.
func (b *budget) keepBrief(t *Task) {
	b.kept += int64(unsafe.Sizeof(Brief{})) + 3*8 + int64(len(t.Name))
}

// keepStack counts a stack, which the tasks that stand there share: once as frames of
// the program, once as those of the snapshot.
func (b *budget) keepStack(calls int) {
	b.kept += 2 * int64(calls) * int64(unsafe.Sizeof(Frame{}))
}

// Options say how much of a program is read.
type Options struct {
	// Stacks asks for the stack of each task.
	Stacks bool
	// StacksOf asks for the stacks of the tasks with these numbers, in every loop,
	// if Stacks is false.
	StacksOf []uint64
	// Goroutines asks for the goroutines that run no task, with their stacks. A program without
	// Rondo has nothing else, and cannot be read without it.
	Goroutines bool
	// MaxTasks is how many tasks of each loop are read at most; 0 for all. Others are
	// counted in Loop.Omitted. It bounds goroutines too, which Program.MoreGoroutines counts.
	MaxTasks int
	// MaxTime and MaxMemory bound what the snapshot takes: how long, and how many bytes it keeps,
	// roughly; 0 for no bound. When one is exceeded, no more tasks are read: they are counted in
	// Loop.Omitted, and Loop.Short says so. For goroutines, Program.MoreGoroutines and
	// NoGoroutines say so.
	MaxTime   time.Duration
	MaxMemory int64
	// BriefFrom asks for Loop.Briefs of each loop with so many tasks or more, in place of most of
	// Loop.Tasks, which takes a third of the memory; 0 for no loop.
	BriefFrom int
	// Times asks for Loop.Times, how long tasks were ready and how long their steps took, for
	// this length of time before the snapshot, as far as the flight record goes. 0 means that
	// Loop.Times is not wanted.
	Times time.Duration

	flight    *Flight // to be filled, with flightFor; nil for none
	flightFor time.Duration
}
