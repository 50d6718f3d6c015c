package inspect_test

import (
	"testing"

	"github.com/rondo-go/rondo/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }
