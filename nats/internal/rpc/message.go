// Package rpc is the protocol of Call and Serve: a function that is called on another
// machine, at most once.
//
// A call is one request and one answer. A function that runs for longer sends a heartbeat
// every 500 ms, which carries the subject on which its worker can be told to cancel it. A
// caller that has heard nothing for two seconds takes the call for lost: the function may
// have run, or may run still. Nothing is ever sent again, and a request that arrives twice
// runs once. A caller that no longer waits answers each heartbeat with a cancellation. So
// no message has to arrive for both sides to end.
//
// The protocol stands on a Transport, and knows nothing of NATS: it runs on the one of
// package nats, and under sim on one that loses, doubles and delays messages.
package rpc

import (
	"context"
	"time"
)

// A Kind says what a Message is.
type Kind uint8

// The first is sent by callers, those up to Alive by workers. Cancel is sent by a caller
// to one worker.
const (
	Request     Kind = iota
	Answer           // the function's result
	Failure          // the function's error, as text
	Panic            // the function's panic, as text, and its stack if the caller asked for it
	Refused          // the worker has too much to do, or is ending; the function does not run
	Stopped          // the worker is ending; the function was cancelled
	Alive            // the function waits for its turn, or runs
	Cancel           // the caller no longer waits
	Unreachable      // of the transport: nobody listens to the subject of a message
	Closed           // of the transport: no more messages will come, for the reason Err
	Unknown          // of a later version: a worker refuses it, and a caller ignores it
)

// A Message is what a Transport carries.
type Message struct {
	Subject string
	Reply   string // where the receiver sends messages about this one
	Kind    Kind
	Quiet   bool                // of a Request: no heartbeats, only the result
	Stack   bool                // of a Request: the stack of a panic is wanted
	Timeout time.Duration       // of a Request: how long the caller waits; 0: not limited
	Header  map[string][]string // of a Request: what the caller has added
	Data    []byte
	Err     error // of Closed
}

// size counts the bytes that a request holds while it waits.
func (m *Message) size() int {
	n := len(m.Data)
	for k, values := range m.Header {
		for _, v := range values {
			n += len(k) + len(v)
		}
	}
	return n
}

// A Transport carries messages, each at most once to each receiver as a rule: it may lose
// some, delay them, and deliver some again.
type Transport interface {
	// Publish sends m. It suspends the task while there is no room. A Request with a
	// Reply that nobody can receive is answered by Unreachable, if that is known.
	Publish(ctx context.Context, m Message) error

	// Subscribe calls fn, as a callback of the loop, with each message of a subject that
	// may end with the wildcard *. Of those that subscribe with the same queue, one
	// receives it.
	Subscribe(ctx context.Context, subject, queue string, fn func(m Message)) (unsubscribe func(), err error)

	// Inbox returns a subject that nobody else has.
	Inbox() string

	// MaxPayload returns how many bytes of data a message can have; 0: not known.
	MaxPayload() int
}

// The times of the protocol.
const (
	Beat    = 500 * time.Millisecond // between the heartbeats of a function
	Silence = 2 * time.Second        // after which the other side is taken for lost
	grace   = 100 * time.Millisecond // for a heartbeat that is there and was not delivered
)

// The limits of what is kept.
const (
	waitingMax   = 1024     // requests that wait for their turn at a worker, besides those that run
	waitingBytes = 64 << 20 // of the requests that run or wait, from which on none waits
	recentMax    = 4096     // calls that a worker remembers, so as not to run one twice
	controlMax   = 64 << 10 // cancellations and refusals that wait to be sent; each job may add an answer
)
