// Package jetstream declares what the checks know of github.com/nats-io/nats.go/jetstream.
package jetstream

import "context"

type Msg interface {
	Data() []byte
	Ack() error
}

type Publisher interface {
	Publish(ctx context.Context, subject string, payload []byte) (any, error)
}

type JetStream interface {
	Publisher
}
