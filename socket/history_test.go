package socket_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// A history records the callbacks of one connection as letters, and checks
// their order: Connected, Data, EOF, Lost.
type history struct {
	t     testing.TB
	calls []byte
	err   error
}

func (h *history) note(call byte) {
	order := "CDEL"
	at := strings.IndexByte(order, call)
	for _, c := range h.calls {
		if was := strings.IndexByte(order, c); was > at || was == at && call != 'D' {
			h.t.Errorf("after %s came %c", h.calls, call)
		}
	}
	if len(h.calls) == 0 && call != 'C' {
		h.t.Errorf("%c came first", call)
	}
	h.calls = append(h.calls, call)
}

func (h *history) lost() bool { return bytes.HasSuffix(h.calls, []byte("L")) }

// noted returns a Protocol that records every callback in the Value, a
// *history, and then does what p does.
func noted(t testing.TB, p *socket.Protocol) *socket.Protocol {
	of := func(tr *socket.Transport) *history {
		if tr.Value == nil {
			tr.Value = &history{t: t}
		}
		return tr.Value.(*history)
	}
	return &socket.Protocol{
		High: p.High, Low: p.Low, Limit: p.Limit, PauseWriting: p.PauseWriting, ResumeWriting: p.ResumeWriting,
		Connected: func(tr *socket.Transport) {
			of(tr).note('C')
			if p.Connected != nil {
				p.Connected(tr)
			}
		},
		Data: func(tr *socket.Transport, b []byte) {
			of(tr).note('D')
			if p.Data != nil {
				p.Data(tr, b)
			}
		},
		EOF: func(tr *socket.Transport) bool {
			of(tr).note('E')
			return p.EOF != nil && p.EOF(tr)
		},
		Lost: func(tr *socket.Transport, err error) {
			of(tr).note('L')
			of(tr).err = err
			if p.Lost != nil {
				p.Lost(tr, err)
			}
		},
	}
}

// until yields until cond holds.
func until(ctx context.Context, cond func() bool) error {
	for !cond() {
		if err := rondo.Sleep(ctx, 50*time.Microsecond); err != nil {
			return err
		}
	}
	return nil
}
