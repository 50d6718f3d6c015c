package socket

import (
	"context"
	"testing"

	"github.com/rondo-go/rondo"
)

// TestActivity: by what it has read and sent since the last look a Transport knows whether it is
// idle.
func TestActivity(t *testing.T) {
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		l, err := Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		peer, err := Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer peer.Close()
		c, err := l.Accept()
		if err != nil {
			return err
		}
		var heard rondo.Event
		tr, err := (&Protocol{Data: func(*Transport, []byte) { heard.Set() }}).Attach(ctx, c)
		if err != nil {
			return err
		}
		defer tr.Abort()
		for _, step := range []struct {
			name       string
			do         func() error
			read, sent bool
		}{
			{"nothing", func() error { return nil }, false, false},
			{"Write", func() error { _, err := tr.Write([]byte("x")); return err }, false, true},
			{"nothing after Write", func() error { return nil }, false, false},
			{"Data", func() error {
				if _, err := peer.Write([]byte("x")); err != nil {
					return err
				}
				return heard.Wait(ctx)
			}, true, false},
			{"nothing after Data", func() error { return nil }, false, false},
		} {
			if err := step.do(); err != nil {
				return err
			}
			if read, sent := tr.activity(); read != step.read || sent != step.sent {
				t.Errorf("%s: read %v, sent %v", step.name, read, sent)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
