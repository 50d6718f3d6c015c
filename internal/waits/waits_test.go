package waits

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestTangles: a task is in a ring only if nothing else can wake it, nor any of those that can.
func TestTangles(t *testing.T) {
	for _, c := range []struct {
		needs map[int][]int
		free  []int
		want  string
	}{
		{nil, nil, "[]"},
		{map[int][]int{1: {2}, 2: {3}}, []int{3}, "[]"},
		{map[int][]int{1: {1}}, nil, "[[1]]"},
		{map[int][]int{1: {2}, 2: {1}}, nil, "[[1 2]]"},
		{map[int][]int{1: {2}, 2: {3}, 3: {4}, 4: {2}}, nil, "[[2 3 4]]"},
		{map[int][]int{1: {2}, 3: {2}, 4: {5}, 5: {6}, 6: {5}}, []int{2}, "[[5 6]]"},
		{map[int][]int{1: {2, 3}, 2: {1}}, []int{3}, "[]"},
		{map[int][]int{1: {2, 3}, 2: {1}, 3: {1}}, nil, "[[1 2] [1 3]]"},
	} {
		if got := fmt.Sprint(Tangles(c.needs, c.free)); got != c.want {
			t.Errorf("%v, free %v: the rings are %v, want %v", c.needs, c.free, got, c.want)
		}
	}
}

// TestDescribe describes tasks that wait in a ring, and some more than are shown.
func TestDescribe(t *testing.T) {
	text := Describe(upTo(most+5), [][]int{{1, 2}}, func(n int) Task {
		return Task{Name: fmt.Sprint("task-", n), State: "ready", Waiting: n < 3 || n > most+2, What: "lock", Of: map[bool]string{true: "m"}[n > most],
			Owner: fmt.Sprint("task-", 3-n), Site: "here.go:1"}
	}, func(n int) string { return map[int]string{1: "main.f at x.go:3"}[n] })
	lines := strings.Split(text, "\n\t")
	want := []string{
		"", "in a ring, which only a cancellation can end: task-1 waits for task-2, which waits for task-1",
		"task-1 waits for lock held by task-2 at main.f at x.go:3, started at here.go:1", "task-2 waits for lock held by task-1, started at here.go:1",
		"task-3 is ready, started at here.go:1",
	}
	if len(lines) != most+3 || !slices.Equal(lines[:5], want) || lines[most+2] != `and 5 more: 3 lock "m", 2 ready` {
		t.Errorf("the text is\n%s", text)
	}
}

// TestDescribeLongRing: of a ring no more tasks are named than elsewhere, and it is said how many
// are left out.
func TestDescribeLongRing(t *testing.T) {
	for _, c := range []struct {
		n, waits int
		ends     string
	}{
		{most, most, ", which waits for task-100, which waits for task-1"},
		{most + 1, most - 1, ", which waits for task-100, and so on: 1 more"},
	} {
		ring := slices.Collect(upTo(c.n))
		text := Describe(upTo(0), [][]int{ring}, func(n int) Task { return Task{Name: fmt.Sprint("task-", n)} }, nil)
		if !strings.HasSuffix(text, c.ends) || strings.Count(text, "waits for") != c.waits {
			t.Errorf("of %d tasks the text is\n%s\nwant the end %q", c.n, text, c.ends)
		}
	}
}

// TestString is the words for each kind of wait.
func TestString(t *testing.T) {
	for _, c := range []struct {
		task Task
		want string
	}{
		{Task{What: "sleep"}, "sleep"},
		{Task{What: "read", On: 7}, "read 7"},
		{Task{What: "get", Of: "orders"}, `get "orders"`},
		{Task{What: "task", On: 3, Owner: "task-3"}, "task-3"},
		{Task{What: "lock", Of: "till", Owner: "clerk"}, `lock "till" held by clerk`},
		{Task{What: "lock", Owner: "clerk", Own: true}, "lock held by the task itself: it is not re-entrant"},
	} {
		if got := c.task.String(); got != c.want {
			t.Errorf("%+v waits for %s, want %s", c.task, got, c.want)
		}
	}
}

func upTo(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i + 1) {
				return
			}
		}
	}
}
