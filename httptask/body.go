package httptask

// The body of a request, as a handler's task reads it.
//
// A body that is known to be small is read before the task starts, so that the handler
// has it without a hand-over; but the task does not wait for it longer than aheadTime.
// What comes later, and larger bodies, the task asks for.

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	aheadMax  = 4 << 10              // bytes of a body that is read ahead
	aheadTime = 5 * time.Millisecond // how long the handler's start waits for it
	readSize  = 16 << 10             // bytes that are asked for at once
)

// A body is what has been read of a request's body and not been taken by the handler.
// It is guarded by the lane for reading, whose owner alone touches it; and while the
// lane is free by the mutex of its exchange.
type body struct {
	source io.ReadCloser
	kept   *[]byte
	at     int   // what of it has been taken
	err    error // what comes after it
	fault  any   // or the panic that comes after it
	closed bool
}

var readBuffers = sync.Pool{New: func() any { b := make([]byte, readSize); return &b }}

// openWithBody is open for a small body. The lane for reading is taken before anyone
// else knows of the exchange. If the body is a middleware's and its Read ends by a Goexit, that
// unwinds net/http's goroutine, which serves the handler meanwhile.
func (x *exchange) openWithBody() bool {
	x.busy, x.ahead, x.lanes[reading].busy = true, true, true
	x.opened = make(chan bool, 1)
	late := time.AfterFunc(aheadTime, func() { x.opened <- x.handler.post(x.start) == nil })
	returned := false
	defer func() {
		if !returned && x.openRead(late) {
			x.serve()
		}
	}()
	x.readAhead()
	returned = true
	return x.openRead(late)
}

// readAhead reads a small body. The handler's Read gets what that of the body panics with: the
// handler may have begun.
func (x *exchange) readAhead() {
	b := &x.body
	b.err = errGoexit // unless it ends in another way
	defer func() {
		if v := recover(); v != nil {
			b.fault, b.err = v, nil
		}
	}()
	b.fill(int(x.request.ContentLength))
}

// openRead hands the request to the loop, unless late has: its body has been read.
func (x *exchange) openRead(late *time.Timer) bool {
	x.mu.Lock()
	x.busy, x.ahead = false, false
	x.mu.Unlock()
	x.release(reading)
	if late.Stop() {
		return x.handler.post(x.start) == nil
	}
	return <-x.opened
}

// fill reads what there is, and up to n bytes. The lane for reading is the caller's.
func (b *body) fill(n int) {
	if b.kept == nil {
		b.kept = readBuffers.Get().(*[]byte)
	}
	space := (*b.kept)[:cap(*b.kept)]
	*b.kept, b.at = space[:0], 0 // also if Read panics
	if n > 0 {
		n, b.err = io.ReadFull(b.source, space[:n])
		if b.err == nil {
			b.err = io.EOF // its length says so
		}
	} else {
		n, b.err = b.source.Read(space)
	}
	*b.kept = space[:n]
}

// take moves what has been read to p, and reports whether there was anything, or an
// error.
func (b *body) take(p []byte) (n int, err error, ok bool) {
	if b.closed {
		return 0, http.ErrBodyReadAfterClose, true
	}
	if b.kept != nil {
		n = copy(p, (*b.kept)[b.at:])
		b.at += n
		if b.at < len(*b.kept) {
			return n, nil, n > 0 || len(p) == 0
		}
	}
	return n, b.err, n > 0 || b.err != nil
}

// unread returns what was read ahead of the handler, and forgets it.
func (x *exchange) unread() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := &x.body
	if b.kept == nil || x.request.ContentLength < 0 || x.lanes[reading].busy {
		return nil
	}
	rest := bytes.Clone((*b.kept)[b.at:])
	b.at = len(*b.kept)
	return rest
}

func (b *body) release() {
	if b.kept != nil {
		*b.kept = (*b.kept)[:cap(*b.kept)]
		readBuffers.Put(b.kept)
		b.kept = nil
	}
}

// wrapBody gives the handler its body.
func (x *exchange) wrapBody() {
	if b := x.body.source; b != nil && b != http.NoBody {
		x.own.Body = bodyReader{x}
	}
}

// A bodyReader is the body of a request for a handler in a task.
type bodyReader struct{ x *exchange }

// Read suspends the task until there is something to read.
func (r bodyReader) Read(p []byte) (n int, err error) {
	x := r.x
	b := &x.body
	x.mu.Lock()
	if x.over {
		x.mu.Unlock()
		return 0, http.ErrBodyReadAfterClose
	}
	ok := false
	if !x.lanes[reading].busy {
		n, err, ok = b.take(p)
	}
	x.mu.Unlock()
	if !ok {
		n, err = x.readOn(p)
	}
	if err == io.EOF {
		x.showTrailer()
	}
	return n, err
}

// readOn is the part of Read that may wait.
func (x *exchange) readOn(p []byte) (n int, err error) {
	b := &x.body
	failure := x.do(reading, func() error {
		ok := false
		if n, err, ok = b.take(p); ok {
			return nil
		}
		if b.fault != nil {
			panic(b.fault)
		}
		if len(p) >= readSize {
			n, err = b.source.Read(p)
			b.err = err
			return err
		}
		b.fill(0)
		n, err, _ = b.take(p)
		return err
	})
	if failure != nil {
		err = failure
	}
	return n, err
}

// showTrailer shows the handler the trailer of a body that has been read. Several may read it.
func (x *exchange) showTrailer() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.own.Trailer == nil { // else the handler may read it
		x.own.Trailer = x.request.Trailer
	}
}

// Close closes the body, which may wait for some of the rest of it. The next Read
// fails.
func (r bodyReader) Close() error {
	x := r.x
	x.mu.Lock()
	if !x.lanes[reading].busy && x.body.err == io.EOF {
		x.body.closed = true // net/http has nothing to wait for
		x.mu.Unlock()
		return nil
	}
	x.mu.Unlock()
	return x.do(reading, func() error {
		x.body.closed = true
		return x.body.source.Close()
	})
}
