//go:build !lean

package main

import (
	"context"
	"net"

	"github.com/rondo-go/rondo/socket"
)

// A pair is a listener and the two ends of a connection.
type pair struct {
	listener       net.Listener
	client, server net.Conn
}

func connect(ctx context.Context) (*pair, error) {
	listener, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	client, err := socket.Dial(ctx, "tcp", listener.Addr().String())
	if err != nil {
		return nil, err
	}
	server, err := listener.Accept()
	return &pair{listener, client, server}, err
}

func (p *pair) read(context.Context) error {
	_, err := p.server.Read(make([]byte, 16))
	return err
}

func (p *pair) accept(context.Context) error {
	_, err := p.listener.Accept()
	return err
}
