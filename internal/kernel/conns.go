package kernel

import "sync/atomic"

// Conns counts the open connections of a loop. Readers from outside know its form: one
// word of 64 bits. It is not negative.
type Conns struct{ open atomic.Int64 }

// Add counts n connections more than before, and returns how many there are. Any
// goroutine may call it.
func (c *Conns) Add(n int) int { return int(c.open.Add(int64(n))) }
