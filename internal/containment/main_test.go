package containment_test

import (
	"errors"
	"testing"

	"github.com/rondo-go/rondo/internal/leak"
)

// TestMain counts goroutines and descriptors: no failure may leave any.
func TestMain(m *testing.M) { leak.Main(m) }

var errPlain = errors.New("plain")

// hostile is an error whose methods panic.
type hostile struct{}

func (hostile) Error() string { return "hostile" }
func (hostile) Unwrap() error { panic("Unwrap") }
func (hostile) Is(error) bool { panic("Is") }
