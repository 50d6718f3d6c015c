package broadcast_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/sim"
)

func TestMain(m *testing.M) { leak.Main(m) }

var errStop = errors.New("stop")

// panics fails t unless fn panics with a text that has want in it.
func panics(t *testing.T, want string, fn func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if v := recover(); !strings.Contains(fmt.Sprint(v), want) {
			t.Errorf("panic %v, want %q", v, want)
		}
	}()
	fn()
}

// exact is for tests that compare times or count turns: nothing is late in any seed.
var exact = sim.Config{Exact: true}
