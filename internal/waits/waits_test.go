package waits

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRing looks for rings among tasks that are numbers, where owners says for each
// of them, from 1 on, which one it waits for.
func TestRing(t *testing.T) {
	for _, c := range []struct{ owners, want []int }{
		{nil, nil},
		{[]int{0, 0}, nil},
		{[]int{2, 3, 0}, nil},
		{[]int{1}, []int{1}},
		{[]int{2, 1}, []int{1, 2}},
		{[]int{2, 3, 4, 2}, []int{2, 3, 4}},
		{[]int{2, 0, 2, 5, 6, 5}, []int{5, 6}},
	} {
		if got := Ring(upTo(len(c.owners)), ownerIn(c.owners)); !slices.Equal(got, c.want) {
			t.Errorf("owners %v: the ring is %v, want %v", c.owners, got, c.want)
		}
	}
}

// TestDescribe describes tasks that wait in a ring, and some more than are shown.
func TestDescribe(t *testing.T) {
	owners := make([]int, most+2)
	owners[0], owners[1] = 2, 1
	text := Describe(upTo(len(owners)), len(owners), ownerIn(owners), func(n int) Task {
		return Task{Name: fmt.Sprint("task-", n), State: "ready", Waiting: n < 3, What: "lock", Owner: fmt.Sprint("task-", 3-n), Site: "here.go:1"}
	})
	lines := strings.Split(text, "\n\t")
	want := []string{
		"", "in a ring, which only a cancellation can end: task-1 waits for task-2, which waits for task-1",
		"task-1 waits for lock held by task-2, started at here.go:1", "task-2 waits for lock held by task-1, started at here.go:1",
		"task-3 is ready, started at here.go:1",
	}
	if len(lines) != most+3 || !slices.Equal(lines[:5], want) || lines[most+2] != "and 2 more" {
		t.Errorf("the text is\n%s", text)
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

func ownerIn(owners []int) func(int) int { return func(n int) int { return owners[n-1] } }
