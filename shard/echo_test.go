package shard

import (
	"errors"
	"fmt"
	"testing"
)

// hostile is an error of which a method panics.
type hostile struct{}

func (hostile) Error() string { return "hostile" }
func (hostile) Unwrap() error { panic("on purpose") }

// TestHostileError: Run has nobody left to blame for an error of which a method panics. It joins
// the error to the first one.
func TestHostileError(t *testing.T) {
	g := &group{errs: []error{errors.New("first"), hostile{}}}
	if text := fmt.Sprint(g.result()); text != "first\nhostile" {
		t.Errorf("Run returns %q", text)
	}
}
