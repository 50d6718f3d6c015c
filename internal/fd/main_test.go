package fd_test

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
)

// TestMain holds the law that nothing is left behind: no goroutine and no file
// descriptor.
func TestMain(m *testing.M) { leak.Main(m) }

// run runs main in a loop, as a test; one that hangs panics.
func run(t testing.TB, main func(ctx context.Context) error) {
	t.Helper()
	watchdog := time.AfterFunc(2*time.Minute, func() { panic(t.Name() + " hangs") })
	defer watchdog.Stop()
	if err := rondo.Run(context.Background(), main); err != nil {
		t.Error(err)
	}
}
