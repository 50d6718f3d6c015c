package report

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestTrouble: each listener gets the word, and one whose channel is full delays nobody.
func TestTrouble(t *testing.T) {
	full, free := make(chan Alarm, 1), make(chan Alarm, 2)
	deafFull, deafFree := Listen(full), Listen(free)
	Trouble("held", 0)
	Trouble("deadlock", 0)
	deafFull()
	deafFree()
	Trouble("late", 0)
	if len(full) != 1 || (<-full).Word != "held" || len(free) != 2 || (<-free).Word != "held" || (<-free).Word != "deadlock" {
		t.Error("a listener has missed a word, or has one too many")
	}
}

// TestTroubleWaits: who asks to wait goes on once each listener that has got the alarm has said
// Seen, or after the time that it names.
func TestTroubleWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full, quick, silent := make(chan Alarm), make(chan Alarm, 1), make(chan Alarm, 2)
		defer Listen(full)()
		defer Listen(quick)()
		go func() {
			a := <-quick
			<-time.After(time.Second)
			a.Seen()
		}()
		began := time.Now()
		if Trouble("deadlock", time.Minute); time.Since(began) != time.Second {
			t.Errorf("waited %v for the listener, want 1s", time.Since(began))
		}
		defer Listen(silent)()
		go func() { (<-quick).Seen() }()
		began = time.Now()
		if Trouble("deadlock", time.Minute); time.Since(began) != time.Minute {
			t.Errorf("waited %v for the one that says nothing, want 1m", time.Since(began))
		}
		for len(silent) > 0 {
			(<-silent).Seen()
		}
	})
}
