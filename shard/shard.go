package shard

// A Shard is one loop of several that belong together.
//
// The law: what a Shard has belongs to its loop, except its box and what never
// changes.

import (
	"context"
	"fmt"
	"sync"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/list"
)

// A Shard is one loop of a Run, and what lives on it. It belongs to that Run and
// ends with it. Any goroutine may call its methods.
type Shard struct {
	index    int
	name     string
	callName string // of the tasks that it starts on others
	group    *group
	box      box

	// These are set on the loop before any main runs.
	loop   kernel.Loop
	public *rondo.Loop
	ctx    context.Context // the scope in which calls from other shards run
	over   bool            // in a simulation: that scope has ended
	err    error           // that its Run has returned, or has panicked with; set before Run of all returns

	changed rondo.WaitList     // where the shard waits for the others
	waiting list.List[pending] // calls of its tasks, the oldest first
}

// Index returns the shard's number: 0 to Len-1.
func (s *Shard) Index() int {
	s.mustBe("Index")
	return s.index
}

// Len returns how many shards there are.
func (s *Shard) Len() int {
	s.mustBe("Len")
	return len(s.group.shards)
}

// At returns the shard with the given number. It panics if there is none.
func (s *Shard) At(i int) *Shard {
	s.mustBe("At")
	if i < 0 || i >= s.Len() {
		panic(fmt.Sprintf("rondo: shard.Shard.At(%d): there are %d shards, from 0 on", i, s.Len()))
	}
	return s.group.shards[i]
}

// mustBe panics if Of has found no shard.
func (s *Shard) mustBe(call string) {
	if s == nil {
		panic("rondo: shard.Shard." + call + " of nil, which shard.Of returns for a ctx that belongs to no shard: use the ctx of a task of shard.Run")
	}
}

// Name returns the name of the shard's loop, such as "shard-1".
func (s *Shard) Name() string {
	s.mustBe("Name")
	return s.name
}

// Loop returns the shard's loop, to Post to it from goroutines that are no tasks.
func (s *Shard) Loop() *rondo.Loop {
	s.mustBe("Loop")
	return s.public
}

// String returns the shard's name.
func (s *Shard) String() string {
	s.mustBe("String")
	return s.name
}

// Of returns the shard that ctx belongs to, or nil if it belongs to none. Any
// goroutine may call it.
func Of(ctx context.Context) *Shard {
	if loop := kernel.Of(ctx); loop != nil {
		if s, ok := byLoop.Load(loop); ok {
			return s.(*Shard)
		}
	}
	return nil
}

// byLoop has the shards that live, by their kernel.Loop.
var byLoop sync.Map
