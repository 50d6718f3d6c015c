// Package flight has the record that a loop keeps of what its tasks did last: which ran, who woke
// which, and when. Package rondo writes it, package inspect reads it from outside.
//
// The law: a record has a fixed size, and the newest entry takes the place of the oldest. Nobody
// but the loop writes it, and without a lock. A reader copies the record while the loop goes on,
// and then drops what may have been written over meanwhile.
//
// When a task runs after a wait, its number and that of the task that woke it are written, and no
// time: the loop reads the clock rarely. Where it does, it writes a mark, so a step between two
// marks has a time between theirs. What a task does after a Yield is no step of its own.
//
// Nor is noted when a task became ready. A mark has how many entries the loop had taken from its
// run queue, and how many were in it. The queue is first in, first out, so the entry that is taken
// as the n-th was in it at the first mark at which both together were n or more.
package flight

import "unsafe"

// How many entries there are of each kind: in all a record is just below 1 MiB.
const (
	Steps  = 1 << 16
	Marks  = 1 << 13
	Starts = 1 << 14
)

// Format is the first word of a record. It changes when anything in this file does.
const Format uint64 = 0x32746867696c66

// A Head is what a record begins with.
type Head struct {
	Format uint64
	Ran    uint64 // how many steps there have been
	Marked uint64 // how many marks
	Began  uint64 // how many starts
}

// A Record is written by one loop. The n-th entry of a kind is at n modulo the number of places.
type Record struct {
	Head
	Steps  [Steps]Step
	Marks  [Marks]Mark
	Starts [Starts]Start
}

// A Step is a task that runs for the first time, or after a wait.
type Step struct {
	Task uint32 // the low half of its number
	By   uint32 // the same of the task that started or woke it; 0 if it was a timer, a callback or the world
}

// A Mark is a moment at which the loop read the clock. Of counts and numbers it has the low halves.
type Mark struct {
	At    int64  // the loop's clock
	Ran   uint32 // how many steps there had been
	Taken uint32 // how many entries of the run queue
	Ready uint32 // how many entries it has
	Task  uint32 // the task that ran up to here; 0: none did; Asleep: the loop sleeps from here on
}

// Asleep stands for the task of a loop that sleeps, or has given the processor away.
const Asleep = 1<<32 - 1

// A Start is the first step of a task.
type Start struct {
	Task  uint64
	Entry uint64 // the code of its function
}

// New returns an empty record.
func New() *Record { return &Record{Head: Head{Format: Format}} }

// Step notes that the task with the number id runs, and who woke it.
func (r *Record) Step(id uint64, by uint32) {
	r.Steps[r.Ran%Steps] = Step{uint32(id), by}
	r.Ran++
}

// Mark notes the time, the entries of the run queue that were taken and those that are in it, and
// which task ran last, or Asleep.
func (r *Record) Mark(at int64, taken, ready, task uint64) {
	r.Marks[r.Marked%Marks] = Mark{at, uint32(r.Ran), uint32(taken), uint32(ready), uint32(task)}
	r.Marked++
}

// Start notes that the task id begins, with the code of its function.
func (r *Record) Start(id uint64, entry uintptr) {
	r.Starts[r.Began%Starts] = Start{id, uint64(entry)}
	r.Began++
}

// Bytes returns the memory of the head, to be filled with a copy of another one.
func (h *Head) Bytes() []byte { return unsafe.Slice((*byte)(unsafe.Pointer(h)), unsafe.Sizeof(*h)) }

// Bytes returns the record's memory, to be filled with a copy of another one.
func (r *Record) Bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(r)), unsafe.Sizeof(*r))
}
