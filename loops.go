package rondo

import (
	"fmt"
	"slices"
	"sync"
)

// This file has the list of the loops of the process, which any goroutine may read
// under its lock.

var loops struct {
	sync.Mutex
	last uint64
	live []*Loop
}

func register(l *Loop) {
	loops.Lock()
	defer loops.Unlock()
	loops.last++
	l.serial = loops.last
	if l.name = l.runner.Name; l.name == "" {
		l.name = fmt.Sprintf("loop-%d", l.serial)
	}
	loops.live = append(loops.live, l)
}

func unregister(l *Loop) {
	loops.Lock()
	defer loops.Unlock()
	i := slices.Index(loops.live, l)
	loops.live = slices.Delete(loops.live, i, i+1)
}

// insideAny reports whether the caller is on any loop.
func insideAny() bool {
	loops.Lock()
	live := slices.Clone(loops.live)
	loops.Unlock()
	return slices.ContainsFunc(live, (*Loop).inside)
}
