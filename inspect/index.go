package inspect

// A task is found among a million by its number, in at most four bytes for each.

import (
	"cmp"
	"slices"
)

// An index finds the place of a key among keys that all differ. It is nil if they
// are in order.
type index []int32

// newIndex makes the index of some keys. It reports whether they all differ.
func newIndex(keys []uint64) (index, bool) {
	if differ(len(keys), func(i int) uint64 { return keys[i] }, func(a, b uint64) bool { return a < b }) {
		return nil, true
	}
	x := make(index, len(keys))
	for i := range x {
		x[i] = int32(i)
	}
	slices.SortFunc(x, func(a, b int32) int { return cmp.Compare(keys[a], keys[b]) })
	return x, differ(len(x), func(i int) uint64 { return keys[x[i]] }, func(a, b uint64) bool { return a != b })
}

// differ reports whether each key has a relation to the next.
func differ(n int, key func(i int) uint64, relation func(a, b uint64) bool) bool {
	for i := 1; i < n; i++ {
		if !relation(key(i-1), key(i)) {
			return false
		}
	}
	return true
}

func (x index) find(keys []uint64, key uint64) (int, bool) {
	if x == nil {
		return slices.BinarySearch(keys, key)
	}
	i, ok := slices.BinarySearchFunc(x, key, func(at int32, key uint64) int { return cmp.Compare(keys[at], key) })
	if !ok {
		return 0, false
	}
	return int(x[i]), true
}

// byID returns a function that finds the place of a task among the loop's by its
// number.
func (l *Loop) byID() func(id uint64) (place int, ok bool) {
	ids, x, _ := l.index()
	return func(id uint64) (int, bool) { return x.find(ids, id) }
}

// index returns the numbers of the tasks and their index, and reports whether they all differ.
func (l *Loop) index() ([]uint64, index, bool) {
	ids := make([]uint64, len(l.Tasks))
	for i, t := range l.Tasks {
		ids[i] = t.ID
	}
	x, differ := newIndex(ids)
	return ids, x, differ
}

// briefOf returns the brief of a task of the loop; nil if there is none.
func (l *Loop) briefOf(id uint64) *Brief {
	i, ok := slices.BinarySearchFunc(l.Briefs, id, func(b Brief, id uint64) int { return cmp.Compare(b.ID, id) })
	if !ok {
		return nil
	}
	return &l.Briefs[i]
}

// taskOf returns the task of the loop with the number; nil if it is not known.
func (l *Loop) taskOf(id uint64) *Task {
	i, ok := slices.BinarySearchFunc(l.Tasks, id, func(t *Task, id uint64) int { return cmp.Compare(t.ID, id) })
	if !ok {
		return nil
	}
	return l.Tasks[i]
}

// called returns the name and the function of a task of the loop, and reports whether it has it.
func (l *Loop) called(id uint64) (name, function string, ok bool) {
	if t := l.taskOf(id); t != nil {
		return t.Name, t.Func, true
	}
	if b := l.briefOf(id); b != nil {
		return b.Name, b.Func, true
	}
	return "", "", false
}
