package report

import "testing"

// TestTrouble: each listener gets the word, and one whose channel is full delays nobody.
func TestTrouble(t *testing.T) {
	full, free := make(chan string, 1), make(chan string, 2)
	deafFull, deafFree := Listen(full), Listen(free)
	Trouble("held")
	Trouble("deadlock")
	deafFull()
	deafFree()
	Trouble("late")
	if len(full) != 1 || <-full != "held" || len(free) != 2 || <-free != "held" || <-free != "deadlock" {
		t.Error("a listener has missed a word, or has one too many")
	}
}
