// Package broadcast has what many tasks read at once. Of a [Queue] each value goes to
// one task; here each value goes to every one that asks.
//
//   - Use [Watch] for a state of which only the latest value counts, such as a
//     configuration.
//   - Use [Topic] for events of which each reader wants every one, such as the lines
//     of a chat. Each subscription has a queue of its own, and says what happens when
//     its reader is too slow.
//
// Everything in this package is for the tasks of one loop.
//
// [Queue]: https://pkg.go.dev/github.com/rondo-go/rondo#Queue
package broadcast

import (
	"errors"

	"github.com/rondo-go/rondo/internal/kernel"
)

// ErrClosed says that a Topic, a Subscription or a Watch was closed.
var ErrClosed = kernel.Closed("broadcast: closed")

// ErrSlow says that a Subscription was ended because its reader was too slow.
var ErrSlow = errors.New("broadcast: the reader was too slow and was dropped")
