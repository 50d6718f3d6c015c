package broadcast_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/internal/leak"
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
