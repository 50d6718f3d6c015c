//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package socket

import (
	"context"
	"net"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// dialTask dials for a task: package net does it, on a goroutine. It is fetched
// by cancelling the ctx that it was given.
func (d *Dialer) dialTask(ctx context.Context, loop kernel.Loop, network, address string) (*Conn, error) {
	away, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var c net.Conn
	err := fd.Beside(loop, loop.Task(), rondo.Reason{What: "connect"}, func() (err error) {
		c, err = d.std().DialContext(away, network, address)
		return err
	}, cancel, func() {}, func(error) bool { return true })
	if err != nil {
		return nil, err
	}
	return adopt(fd.Adopt(loop, c.(fd.Face)), c), nil
}
