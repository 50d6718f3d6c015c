//go:build lean

package main

import (
	"context"

	"github.com/rondo-go/rondo"
)

// A pair waits as sockets do. A program without package net is built in half the
// time, which counts where the whole standard library is compiled for it.
type pair struct{ conn, listener rondo.WaitList }

func connect(context.Context) (*pair, error) {
	peer := "127.0.0.1:1"
	return &pair{conn: rondo.WaitList{Of: &peer}}, nil
}

func (p *pair) read(ctx context.Context) error {
	return p.conn.Park(ctx, rondo.Reason{What: "read", On: 3})
}

func (p *pair) accept(ctx context.Context) error {
	return p.listener.Park(ctx, rondo.Reason{What: "accept", On: 4})
}
