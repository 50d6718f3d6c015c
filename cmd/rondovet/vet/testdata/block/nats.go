package block

import (
	"context"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
)

func client(ctx context.Context, c *nats.Conn, m *nats.Msg, js jetstream.JetStream, job jetstream.Msg) error {
	if err := rondo.Yield(ctx); err != nil {
		return err
	}
	if err := c.Publish("a", nil); err != nil { // want `nats.Conn.Publish stops the loop, because this runs in a task: use the Conn of package rondo/nats, or rondo.Offload`
		return err
	}
	if err := m.Respond(job.Data()); err != nil { // want `nats.Msg.Respond stops the loop`
		return err
	}
	if _, err := js.Publish(ctx, "a", nil); err != nil { // want `jetstream.Publisher.Publish stops the loop, because this runs in a task: use nats.Enqueue, or rondo.Offload`
		return err
	}
	defer c.Close()
	return rondo.OffloadFunc(ctx, func(context.Context) error { return job.Ack() })
}

func done(ctx context.Context, job jetstream.Msg) error {
	if err := rondo.Yield(ctx); err != nil {
		return err
	}
	return job.Ack() // want `jetstream.Msg.Ack stops the loop, because this runs in a task: use nats.Work, which acknowledges a job that returns nil, or rondo.Offload`
}
