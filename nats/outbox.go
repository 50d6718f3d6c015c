package nats

// The outbox brings messages from the loop to the client. The law: no task calls a
// function of the client that may block. Tasks publish into the outbox, and one
// goroutine hands it to the client, in order of arrival. So only that goroutine is
// held up by a server that does not read, and by the locks of the client.

import (
	"sync"

	natsgo "github.com/nats-io/nats.go"
)

const (
	outboxMax = 1 << 20 // bytes in the outbox, at which Publish waits
	opSize    = 128     // what a message counts for, besides its data, subjects and header
)

// An op is something that the writer does: it publishes a message, or calls do.
type op struct {
	verb           string // "request" or "call"; empty: "publish"
	subject, reply string
	header         natsgo.Header
	from, to       int    // its data, in the batch
	request        uint64 // the number of the request that it is, or 0
	do             func(nc *natsgo.Conn)
}

// A batch is what the writer takes at once.
type batch struct {
	ops  []op
	data []byte
	size int
}

func (b *batch) clear() {
	clear(b.ops)
	b.ops, b.data, b.size = b.ops[:0], b.data[:0], 0
	if cap(b.data) > 2*outboxMax {
		b.data = nil
	}
}

// An outbox is what has been published and was not handed to the client yet. The loop
// puts, the writer takes.
type outbox struct {
	mu      sync.Mutex
	filled  sync.Cond // the writer waits for it
	next    batch     // what the writer takes next
	spare   batch
	size    int  // bytes in next and in the batch that is being written
	waiting bool // a task waits for room
	closed  bool
}

// full reports whether Publish has to wait, and if so that room is to be reported.
func (o *outbox) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.size < outboxMax || o.closed {
		return false
	}
	o.waiting = true
	return true
}

// put adds an op with a copy of its data. It reports whether the outbox was open.
func (o *outbox) put(p op, data []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	b := &o.next
	p.from = len(b.data)
	b.data = append(b.data, data...)
	p.to = len(b.data)
	b.ops = append(b.ops, p)
	size := opSize + len(data) + len(p.subject) + len(p.reply) + headerSize(p.header)
	b.size += size
	o.size += size
	if len(b.ops) == 1 {
		o.filled.Signal()
	}
	return true
}

// close lets the writer end when it has written what there is.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.filled.Signal()
}

// take waits for the next batch. It returns false when the outbox is closed and empty.
func (o *outbox) take() (b batch, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.next.ops) == 0 {
		if o.closed {
			return b, false
		}
		o.filled.Wait()
	}
	b, o.next = o.next, o.spare
	o.spare = batch{}
	return b, true
}

// written takes back a batch. It reports whether tasks wait for room.
func (o *outbox) written(b batch) (waiting bool) {
	size := b.size
	b.clear()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spare = b
	o.size -= size
	waiting, o.waiting = o.waiting, false
	return waiting
}

// write is the goroutine that hands what is in the outbox to the client.
func (c *Conn) write() {
	defer c.goroutines.Done()
	unsent := 0
	for {
		b, ok := c.out.take()
		if !ok {
			break
		}
		for i := range b.ops {
			p := &b.ops[i]
			if p.do != nil {
				p.do(c.nc)
				continue
			}
			switch err := c.writeOp(p, b.data[p.from:p.to:p.to]); {
			case err == nil:
			case p.request != 0:
				id := p.request
				c.post(func() { c.failRequest(id, err) })
			case err == natsgo.ErrConnectionClosed:
				unsent++
			default:
				c.report(nil, p.failed(err))
			}
		}
		if c.out.written(b) {
			c.post(c.grant)
		}
	}
	if unsent > 0 {
		c.report(nil, errUnsent(unsent))
	}
}

// writeOp hands a message to the client. While the client has no connection and its
// buffer for that time is full, it waits for a connection.
func (c *Conn) writeOp(p *op, data []byte) error {
	for {
		var err error
		switch {
		case p.header != nil:
			err = c.nc.PublishMsg(&natsgo.Msg{Subject: p.subject, Reply: p.reply, Header: p.header, Data: data})
		case p.reply != "":
			err = c.nc.PublishRequest(p.subject, p.reply, data)
		default:
			err = c.nc.Publish(p.subject, data)
		}
		if err != natsgo.ErrReconnectBufExceeded || c.nc.Opts.ReconnectBufSize < 0 {
			return err
		}
		select {
		case <-c.connected:
		case <-c.in.stop: // the options may keep the client from calling ClosedCB
		}
	}
}
