package interop_test

import (
	"testing"

	"github.com/rondo-go/rondo/internal/leak"
)

// TestMain holds the law that nothing is left behind: no goroutine and no file
// descriptor.
func TestMain(m *testing.M) { leak.Main(m) }
