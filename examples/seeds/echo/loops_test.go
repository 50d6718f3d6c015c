package main

import (
	"errors"
	"os"
	"testing"
)

// TestFailure has one function of a loop fail while another one is paused. The
// other is unwound, and the error comes out.
func TestFailure(t *testing.T) {
	r, p, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer p.Close()
	fault := errors.New("fault")
	for name, run := range map[string]func(unwound *bool) error{
		"turns": func(unwound *bool) error {
			var c carousel
			c.add(func(y *pauses) error {
				defer func() { *unwound = true }()
				_, err := y.Yield(struct{}{})
				return err
			})
			c.add(func(*pauses) error { return fault })
			return c.run()
		},
		"waits": func(unwound *bool) error {
			var room waitingRoom
			room.add(func(y *waits) error {
				defer func() { *unwound = true }()
				_, err := y.Yield(wait{fd: int(r.Fd())})
				return err
			})
			room.add(func(*waits) error { return fault })
			return room.run()
		},
	} {
		unwound := false
		if err := run(&unwound); !errors.Is(err, fault) || !unwound {
			t.Errorf("%s: %v, and the other is unwound: %v", name, err, unwound)
		}
	}
}
