package inspect

// This file bounds what one picture takes: time, and memory that it keeps.

import (
	"fmt"
	"time"
	"unsafe"
)

// A budget is what is left for a picture of all loops of a program.
type budget struct {
	options Options
	began   time.Time
	kept    int64  // bytes, roughly
	short   string // what ran out, in words; "" if nothing has
}

// late reports whether no time is left.
func (b *budget) late() bool {
	if b == nil || b.short != "" {
		return b != nil
	}
	if most := b.options.MaxTime; most > 0 && time.Since(b.began) > most {
		b.short = fmt.Sprintf("has taken %s, the most that it may", short(most))
	}
	return b.short != ""
}

// over reports whether no time or no memory is left.
func (b *budget) over() bool {
	if b == nil || b.late() {
		return b != nil
	}
	if most := b.options.MaxMemory; most > 0 && b.kept > most {
		b.short = fmt.Sprintf("takes %d MB of memory, the most that it may", most/1_000_000)
	}
	return b.short != ""
}

// A task takes so many bytes, without its texts: with it its place in the list, and
// in the ring.
const perTask = int64(unsafe.Sizeof(Task{})) + 8 + 3*8

// keep counts what is kept of a task.
func (b *budget) keep(t *Task) {
	if b != nil {
		b.kept += perTask + int64(len(t.Name)+len(t.Waiting)) + int64(len(t.Scopes))*int64(unsafe.Sizeof(Scope{}))
	}
}

// keepStack counts a stack, which the tasks that stand there share: once as frames of
// the program, once as those of the picture.
func (b *budget) keepStack(calls int) {
	if b != nil {
		b.kept += 2 * int64(calls) * int64(unsafe.Sizeof(Frame{}))
	}
}
