package httptask

// A payload is the body of a request, as net/http's server has it: Close reads at most
// 256 KiB of what is unread.
//
// The body that http.ReadRequest makes is never closed, because its Close reads all there
// is. One caller reads at a time: a transport may still send a body, from a goroutine of
// its own, when the handler has returned.

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/rondo-go/rondo/internal/fd"
)

// unreadMax is how many unread bytes of a body a connection reads to go on.
const unreadMax = 256 << 10

type payload struct {
	w      *reply
	inner  io.ReadCloser // of ReadRequest
	lock   fd.Lock       // guards the rest
	left   int64         // unread bytes; negative if the length is not known
	ends   bool          // the connection ends after this request
	sawEOF bool
	closed atomic.Bool
	cutOff bool // Close has left something unread
	cut    bool // a cancellation has ended a Read: the rest is not waited for
}

func (b *payload) take() error {
	if b.lock.Try() {
		return nil
	}
	loop := b.w.n.loop
	return b.lock.Take(loop, fd.TaskOf(loop, "Read of a request's body"))
}

func (b *payload) release() { b.lock.Release(b.w.n.loop) }

func (b *payload) Read(p []byte) (int, error) {
	if err := b.take(); err != nil {
		return 0, err
	}
	defer b.release()
	return b.read(p)
}

// read is Read for the owner of the lock.
func (b *payload) read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	if b.sawEOF {
		return 0, io.EOF
	}
	k, err := b.inner.Read(p)
	if b.left > 0 {
		b.left -= int64(k)
	}
	if err == io.EOF && b.left < 0 && b.tooMany() {
		b.closed.Store(true)
		return k, errTooManyTrailers
	}
	switch {
	case err == nil:
	case err == io.EOF, err == io.ErrUnexpectedEOF && b.left >= 0:
		b.sawEOF = true
		b.w.req.Trailer = b.w.orig.Trailer
		b.w.watch()
	case b.left < 0:
		if _, again := b.inner.Read(nil); again == http.ErrBodyReadAfterClose {
			b.closed.Store(true) // the trailer was malformed
		}
		fallthrough
	default:
		b.cut = b.cut || !b.w.n.left.Load() && b.w.n.cancelled()
	}
	return k, err
}

// errTooManyTrailers is the error of net/http for a trailer with too many values.
var errTooManyTrailers = errors.New("message too large")

// tooMany reports whether the trailer has more values than a header may have.
func (b *payload) tooMany() bool {
	most := maxValues(b.w.n.engine.http)
	if most == 0 {
		return false
	}
	n := 0
	for _, vs := range b.w.orig.Trailer {
		n += len(vs)
	}
	return n > most
}

// Close ends the body. Reading what is left of it may suspend the task.
func (b *payload) Close() error { return b.discard(true) }

// discard is Close. If ends is false, a body of which nothing was left stays open: after the last
// byte its reader may still look for the end, as a Transport does that sends it elsewhere.
func (b *payload) discard(ends bool) error {
	if err := b.take(); err != nil {
		return err
	}
	defer b.release()
	if b.closed.Load() {
		return nil
	}
	var n int64
	var err error
	switch {
	case b.sawEOF:
	case b.left >= 0 && b.ends:
		n = b.left
	case b.left > unreadMax || b.cut:
		b.cutOff = true
	default:
		n, err = io.CopyN(io.Discard, (*unread)(b), unreadMax+1)
		if b.cutOff = n > unreadMax || err != io.EOF; !b.cutOff {
			err = nil
		}
	}
	b.closed.Store(ends || n > 0 || b.cutOff || err != nil)
	return err
}

// idle reports whether nobody is in the middle of a Read. nil is no body.
func (b *payload) idle() bool {
	if b == nil {
		return true
	}
	if !b.lock.Try() {
		return false
	}
	b.release()
	return true
}

// shut ends the body also where Close could not wait. It reports false if a goroutine is in the
// middle of a Read, which goes on.
func (b *payload) shut() bool {
	if b.closed.Load() {
		return true
	}
	if !b.lock.Try() {
		return false
	}
	defer b.release()
	b.closed.Store(true)
	return true
}

// unread is a payload for the owner of its lock.
type unread payload

func (u *unread) Read(p []byte) (int, error) { return (*payload)(u).read(p) }

// remains reports whether there is, or may be, more to read.
func (b *payload) remains() bool {
	if b.take() != nil {
		return true
	}
	defer b.release()
	return !b.sawEOF
}

// A continuer is the body of a request with "Expect: 100-continue": the first Read tells
// the client to send it. If the answer comes first, the client may never send it, so nothing
// waits for it, and the connection ends.
type continuer struct {
	*payload
	asked  atomic.Int32 // whether the client was told to send the body
	saying fd.Lock      // held while it is told
	closed atomic.Bool
}

// What asked may be. The first decision stays.
const (
	undecided int32 = iota
	told
	unasked // and it is not told any more
)

// decide sets asked, unless that is decided. What follows is sent after what another goroutine,
// or task, tells the client at that moment.
func (c *continuer) decide(asked int32) {
	if c.asked.CompareAndSwap(undecided, asked) || c.unasked() {
		return
	}
	n := c.payload.w.n
	if !c.saying.Try() {
		n.shield(func() { _ = c.saying.Take(n.loop, fd.TaskOf(n.loop, "100 Continue")) })
	}
	c.saying.Release(n.loop)
}

// tell tells the client to send the body, unless that is decided. The handler may write its
// answer meanwhile: that is not touched.
func (c *continuer) tell() error {
	n := c.payload.w.n
	if err := c.saying.Take(n.loop, fd.TaskOf(n.loop, "100 Continue")); err != nil {
		return err
	}
	defer c.saying.Release(n.loop)
	if !c.asked.CompareAndSwap(undecided, told) {
		return nil
	}
	_, err := n.write([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
	if err != nil && !n.cancelled() {
		n.leave()
	}
	return err
}

// unasked reports whether the client was not told, and is not told any more. nil is none.
func (c *continuer) unasked() bool { return c != nil && c.asked.Load() == unasked }

func (c *continuer) Read(p []byte) (int, error) {
	if c.asked.Load() == undecided {
		if err := c.tell(); err != nil {
			return 0, err
		}
	}
	if c.unasked() || c.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	return c.payload.Read(p)
}

func (c *continuer) Close() error {
	if c.decide(unasked); c.unasked() {
		return nil
	}
	if c.closed.Swap(true) {
		return nil
	}
	return c.payload.Close()
}
