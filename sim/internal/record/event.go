package record

import (
	"fmt"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim/internal/moment"
)

// A Kind is what happened in an event.
type Kind uint8

const (
	Jumped   Kind = iota // the clock
	Chosen               // a task or a callback, among n
	Started              // a task
	Stepped              // a task runs from here on
	Parked               // a task waits, for what
	Woken                // a task's wait has ended
	Ended                // a task, n is 1 if with an error
	Called               // a callback has run
	Passed               // a task was ready but does not run now
	Drew                 // a task chose n with Choose
	Hosted               // a host boots, exits, crashes
	Sent                 // a message of n bytes, by a host to another
	Arrived              // a message
	Struck               // a fault of the network
	Wrote                // a host n bytes to a file
	Put                  // a value into a queue
	Showed               // a value that the program names, if a picture is to be drawn
	Asked                // an operation of a History begins, likewise
	Answered             // one ends, likewise
)

// An Event is one thing that happened in a run.
type Event struct {
	Now  int64
	Who  uint64 // the number of the task; 0 for a callback
	What string
	N    int32
	Sum  uint32 // of the bytes that go with it; see Carries
	Kind Kind

	// What is not compared.
	Task  *rondo.Task // for its name; nil: it is not known
	By    uint64      // the task that ended a wait, or 0
	Data  string      // a message or a value in words, if a picture is to be drawn
	Stack *[]uintptr  // of a task that waits, if a picture is to be drawn
}

// same reports whether the same happened, but for the sums, which are compared as they come.
func (e *Event) same(f *Event) bool {
	return e.Now == f.Now && e.Who == f.Who && e.What == f.What && e.N == f.N && e.Kind == f.Kind
}

// String says what happened, for a report that two runs differ.
func (e Event) String() string {
	at := time.Duration(e.Now - moment.Origin)
	who := "a callback"
	if e.Who != 0 {
		who = fmt.Sprintf("task-%d", e.Who)
	}
	if e.Task != nil && e.Task.Name() != who {
		who += ", " + e.Task.Name() + ","
	}
	switch e.Kind {
	case Jumped:
		return fmt.Sprintf("the clock jumped to %v", at)
	case Chosen:
		return fmt.Sprintf("%s ran as one of %d after %v", who, e.N, at)
	case Passed:
		return fmt.Sprintf("%s was ready but did not run after %v", who, at)
	case Started:
		return fmt.Sprintf("%s was started after %v", who, at)
	case Hosted, Sent, Arrived, Struck:
		return fmt.Sprintf("%s (%d) of host %d to %d after %v", e.What, e.N, e.Who>>32, e.Who&0xffffffff, at)
	case Wrote:
		return fmt.Sprintf("host %d wrote %d bytes to %q after %v", e.Who>>32, e.N, e.What, at)
	case Put:
		return fmt.Sprintf("a value was put into a queue after %v", at)
	case Showed:
		return fmt.Sprintf("%s became %s after %v", e.What, e.Data, at)
	case Asked:
		return fmt.Sprintf("%s asked %s after %v", who, e.Data, at)
	case Answered:
		return fmt.Sprintf("%s got %s after %v", who, e.Data, at)
	case Drew:
		return fmt.Sprintf("Choose returned %d to %s after %v", e.N, who, at)
	case Parked:
		return fmt.Sprintf("%s waited for %s after %v", who, e.What, at)
	case Woken:
		return fmt.Sprintf("the wait of %s ended after %v", who, at)
	case Ended:
		if e.N != 0 {
			return fmt.Sprintf("%s ended with an error after %v", who, at)
		}
		return fmt.Sprintf("%s ended after %v", who, at)
	}
	return fmt.Sprintf("%s ran after %v", who, at)
}
