package dropped

import (
	"context"

	"github.com/rondo-go/rondo"
)

func statement(ctx context.Context, m *rondo.Mutex) error {
	rondo.Sleep(ctx, 1) // want `the error of rondo.Sleep is dropped: return it, or write _ = if nothing follows that matters`
	m.Lock(ctx)         // want `the error of rondo.Mutex.Lock is dropped`
	defer m.Unlock()
	rondo.WaitCanceled(ctx) // it always fails
	_ = rondo.Sleep(ctx, 1)
	return nil
}
