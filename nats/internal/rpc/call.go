package rpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-go/rondo"
)

// The errors of a call, besides those of the function.
var (
	// ErrLost: nothing was heard of the function for two seconds, or its worker has
	// ended. It may have run, or may run still.
	ErrLost = errors.New("call lost: the function may have run")

	// ErrNoWorker: nobody serves the name. The function has not run.
	ErrNoWorker = errors.New("nobody serves the name")

	// ErrRefused: the worker has too much to do, or is ending. The function has not run.
	ErrRefused = errors.New("the worker refuses the call")
)

// A RemoteError is the error or the panic of a function that was called.
type RemoteError struct {
	Name  string // what was called
	Text  string // the error, or the value of the panic, as text
	Panic bool   // the function panicked
	Stack string // of a panic, if the caller asked for it
}

// Error returns the text, and says where it is from.
func (e *RemoteError) Error() string {
	if e.Panic {
		return fmt.Sprintf("%s panicked: %s", e.Name, e.Text)
	}
	return e.Name + ": " + e.Text
}

// A call waits for the answer to its request.
type call struct {
	endpoint *Endpoint
	id       uint64
	name     string
	waiting  rondo.WaitList
	silence  *rondo.Handle // runs when nothing was heard for too long
	worker   string        // the subject on which the worker can be told; "" before a heartbeat
	done     bool
	answer   Message
	err      error
}

// Call sends a request and suspends the task until the answer. If ctx is cancelled first
// it returns the cause, and the worker is told if it is known by then, else at its first
// heartbeat. header goes with the request. stack asks for the stack of a panic.
func (e *Endpoint) Call(ctx context.Context, name string, header map[string][]string, data []byte, stack bool) ([]byte, error) {
	if e.closed != nil {
		return nil, failed(name, e.closed)
	}
	m := Message{Subject: name, Kind: Request, Stack: stack, Header: header, Data: data}
	if deadline, ok := ctx.Deadline(); ok {
		m.Timeout = max(deadline.Sub(rondo.Now(ctx)), time.Nanosecond)
	}
	e.lastCall++
	c := &call{endpoint: e, id: e.lastCall, name: name}
	c.waiting.Of = &c.name
	m.Reply = e.callSubject(c.id)
	e.calls[c.id] = c
	defer c.forget()
	if err := e.transport.Publish(ctx, m); err != nil {
		return nil, err
	}
	if !c.done {
		c.listen()
		if err := c.waiting.Park(ctx, rondo.Reason{What: "nats reply"}); err != nil {
			if c.worker != "" {
				e.control.TryPut(Message{Subject: c.worker, Kind: Cancel})
			}
			return nil, err
		}
	}
	if c.err != nil { // the request may have been sent
		return nil, failed(name, fmt.Errorf("%w: %w", ErrLost, c.err))
	}
	return c.result()
}

// listen takes the call for lost if nothing is heard from now on. If the loop was held, the
// timer may be due before what has arrived is delivered; so there is a grace.
func (c *call) listen() {
	if c.silence != nil {
		c.silence.Cancel()
	}
	loop := c.endpoint.loop
	c.silence = loop.CallLater(Silence, func() {
		c.silence = loop.CallLater(grace, func() { c.finish(Message{Kind: Stopped}, nil) })
	})
}

// forget is called when nobody waits for the call any more.
func (c *call) forget() {
	delete(c.endpoint.calls, c.id)
	c.done = true
	if c.silence != nil {
		c.silence.Cancel()
	}
}

// finish ends the wait.
func (c *call) finish(answer Message, err error) {
	if !c.done {
		c.done, c.answer, c.err = true, answer, err
		c.waiting.Wake()
	}
}

// result returns what the answer says.
func (c *call) result() ([]byte, error) {
	switch m := c.answer; m.Kind {
	case Answer:
		return m.Data, nil
	case Failure:
		return nil, &RemoteError{Name: c.name, Text: string(m.Data)}
	case Panic:
		e := &RemoteError{Name: c.name, Panic: true}
		e.Text, e.Stack = splitPanic(m.Data)
		return nil, e
	case Refused:
		return nil, failed(c.name, ErrRefused)
	case Unreachable:
		return nil, failed(c.name, ErrNoWorker)
	}
	return nil, failed(c.name, ErrLost)
}

func failed(name string, err error) error { return fmt.Errorf("nats: call %q: %w", name, err) }

// reply takes a message to a call. A heartbeat to one for which nobody waits is answered
// by a cancellation, so a cancellation that is lost is repeated.
func (e *Endpoint) reply(id uint64, m Message) {
	c := e.calls[id]
	switch {
	case m.Kind == Alive && (c == nil || c.done):
		e.control.TryPut(Message{Subject: m.Reply, Kind: Cancel})
	case c == nil:
	case m.Kind == Alive:
		c.worker = m.Reply
		if c.silence != nil {
			c.listen()
		}
	case m.Kind != Request && m.Kind != Cancel && m.Kind != Unknown:
		c.finish(m, nil)
	}
}
