//go:build !interleave

package stdctx

import (
	"sync"
	"sync/atomic"
)

// The atomic operations of a State. See interleave.go for the other ones.
type (
	pointer[T any] = atomic.Pointer[T]
	integer        = atomic.Int64
	boolean        = atomic.Bool
	mutex          = sync.Mutex
)
