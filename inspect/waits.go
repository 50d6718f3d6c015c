package inspect

// The waits of tasks, in words.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-go/rondo/internal/layout"
)

// ofTask are the words of the reasons whose number is a task's.
var ofTask = []string{"task", "next", "pull"}

// An awaited is what a task waits for, as it was read: the word for its kind, the
// number in the reason, the task that owns the list, where that stands, and what the
// thing is called.
type awaited struct {
	what      string
	on, owner uint64
	ownerAt   uint64
	label     string
	readers   int  // how many tasks hold it for reading
	listed    bool // the task waits in a list
}

// awaited returns what s waits for.
func (r *reader) awaited(s *seen, label string) awaited {
	owner, at := s.holder()
	return awaited{s.info.What, s.worker.uint64(layout.WorkerOn), owner, at, label, s.hold.readers, s.worker.uint64(layout.WorkerList) != 0}
}

// task returns the number of the task that can end the wait, and where it stands if
// that is known; 0 if none is known to.
func (a awaited) task() (id, at uint64) {
	switch {
	case a.owner != 0:
		return a.owner, a.ownerAt
	case slices.Contains(ofTask, a.what) && (!a.listed || a.ownerAt != 0): // else it is a word of the program's
		return a.on, 0
	}
	return 0, 0
}

// meet reads the names of the tasks that can end some waits. Where one stands may be
// another by the time that its name is read, so each is looked at once more.
func (r *reader) meet(waits []awaited) {
	r.names = make(map[uint64]string)
	var addrs, ids []uint64
	for _, a := range waits {
		id, at := a.task()
		if _, known := r.names[id]; id == 0 || known {
			continue
		}
		r.names[id] = ""
		if at == 0 {
			at = r.ring.of(id)
		}
		addrs, ids = append(addrs, at), append(ids, id)
	}
	for from := 0; from < len(addrs); from += piece {
		to := min(from+piece, len(addrs))
		r.meetAt(addrs[from:to], ids[from:to])
	}
}

func (r *reader) meetAt(addrs, ids []uint64) {
	found := make([]*seen, 0, len(addrs))
	for i, t := range r.many(addrs, r.size(layout.TaskSize)) {
		if t.b != nil && r.mine(t) && t.uint64(layout.TaskID) == ids[i] {
			found = append(found, &seen{addr: addrs[i], task: t, info: &Task{ID: ids[i]}})
		}
	}
	names := r.namesOf(found)
	for i, s := range found {
		s.name = names[i]
	}
	r.readNames(found)
	r.confirmNames(found)
	again := r.column(len(found))
	for i, s := range found {
		again[i] = s.addr
	}
	r.each(again, r.size(layout.TaskSize), func(i int, t record) {
		s := found[i]
		if r.mine(t) && t.uint64(layout.TaskID) == s.info.ID && t.uint64(layout.TaskExtra) == s.task.uint64(layout.TaskExtra) {
			r.names[s.info.ID] = s.info.Name
		}
	})
}

// called returns the number of a task, with its name if it was read.
func (r *reader) called(id uint64) string {
	if name := r.names[id]; name != "" {
		return fmt.Sprintf("#%d %s", id, name)
	}
	return fmt.Sprintf("#%d", id)
}

// waiting says what s waits for.
func (r *reader) waiting(s *seen, a awaited) string {
	t := s.info
	words := r.inWords(t, a)
	if t.What == "sleep" && t.Due != 0 {
		if left := rounded(t.Due); left != r.slept.left || words != r.slept.words {
			r.slept = slept{left, words, words + " " + sleepsFor(t)}
		}
		return r.slept.text
	}
	return words
}

// slept is what the last sleeping task was said to wait for. The next one often waits
// as long.
type slept struct {
	left        time.Duration
	words, text string
}

// inWords says what t waits for in a list. The numbers of what it is are noted in t.
func (r *reader) inWords(t *Task, a awaited) string {
	words := a.what
	if a.label != "" {
		words += " " + a.label
	}
	id, _ := a.task()
	switch {
	case id == 0 && a.on == 0 && a.readers > 0:
		t.Readers = a.readers
		return words + " held by " + count(a.readers, "reader")
	case id == 0 && a.on == 0:
		return words
	case a.owner != 0 && a.owner == t.ID && !slices.Contains(ofTask, a.what) && a.what != "future":
		t.On = id
		return words + " held by the task itself: it is not re-entrant"
	case a.owner != 0 && !slices.Contains(ofTask, a.what) && a.what != "future":
		words += " held by"
		fallthrough
	case id != 0:
		t.On = id
		return words + " " + r.called(id)
	case slices.Contains(ofDescriptor, a.what):
		t.FD = int(a.on & 0x7fffffff)
		return words + " fd " + strconv.Itoa(t.FD)
	case a.what == "process":
		return words + " pid " + strconv.FormatUint(a.on, 10)
	}
	return words + " " + strconv.FormatUint(a.on, 10)
}

// shared returns a text that is equal, and the same for all tasks of the portion.
func (r *reader) shared(text string) string {
	if kept, ok := r.words[text]; ok {
		return kept
	}
	kept := strings.Clone(text)
	r.words[kept] = kept
	return kept
}
