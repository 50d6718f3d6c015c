package network

// A flow is one direction of a connection. Bytes arrive in the order in which they were sent,
// or not at all. A lost segment is sent again, and all segments behind it wait for that.

import (
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// errReset is what both ends get when a connection is reset.
const errReset = syscall.ECONNRESET

// A message is what travels.
type message uint8

const (
	data    message = iota
	opening         // the last part of making a connection
	closing         // the end of this direction
	reset           // the end of both
)

// A segment is a message on its way.
type segment struct {
	kind message
	size int
	sent int64 // when it leaves the machine, for the time at which it arrives
	at   int64 // when it arrives
}

// A flow is one direction of a connection.
type flow struct {
	moment   moment.Moment // when the first segment arrives, or is sent again
	from, to *streamSocket
	link     *Way
	bytes    []byte // what has arrived and was not read, then what is on its way
	arrived  int    // how many of them have arrived
	packets  []int  // of "unixpacket": how long those are that have arrived and were not read
	size     int    // how many there may be
	segments []segment
	blocked  bool         // the sender waits for room
	kept     []byte       // what the sender has given beyond that
	keeps    atomic.Int64 // how many bytes these are
	over     bool         // the end has arrived
	stuck    bool         // the first segment was lost
	tries    int
	unacked  int           // segments that arrived while nothing came back
	opens    *streamSocket // the listener that gets the other end, until it has
	wakeup   update
}

// An update says to the sender that there is room.
type update struct {
	moment moment.Moment
	flow   *flow
}

func newFlow(from, to *streamSocket) *flow {
	w := from.stack.net
	f := &flow{from: from, to: to, link: w.Between(from.stack.node, to.stack.node), size: w.Profile.Buffer}
	f.moment.What = f
	f.wakeup.flow, f.wakeup.moment.What = f, &f.wakeup
	return f
}

// room returns how many bytes may be sent: none before what is kept.
func (f *flow) room() int {
	if len(f.kept) > 0 {
		return 0
	}
	return max(0, f.size-len(f.bytes))
}

func (f *flow) pending() int { return len(f.bytes) }

// send sends bytes.
func (f *flow) send(p []byte) {
	f.bytes = append(f.bytes, p...)
	f.link.corrupt(f.bytes[len(f.bytes)-len(p):])
	f.push(len(p), data)
}

// give sends bytes, and keeps those that there is no room for.
func (f *flow) give(p []byte) {
	n := min(len(p), f.room())
	if n > 0 {
		f.send(p[:n])
	}
	if n < len(p) {
		f.blocked = true
		f.keep(append(f.kept, p[n:]...))
	}
}

// keep sets what is kept.
func (f *flow) keep(p []byte) {
	f.kept = p
	f.keeps.Store(int64(len(p)))
}

// sendKept sends what there is room for of what is kept, and then the end if there is to be one.
func (f *flow) sendKept() {
	p := f.kept
	f.keep(nil)
	f.give(p)
	if len(p) > 0 && len(f.kept) == 0 && f.from.writeShut {
		f.push(0, closing)
	}
}

// push sends a segment. Its bytes are in f.bytes already.
func (f *flow) push(size int, kind message) {
	w := f.from.stack.net
	f.link.from.net.log(record.Sent, f.link.from, f.link.to, kind.String(), size)
	w.trace.Carries(f.bytes[max(0, len(f.bytes)-size):])
	leaves := w.clock()
	at := moment.After(leaves, f.link.delay(size+60))
	if f.link.lost() {
		leaves += int64(resendFirst)
		at = moment.After(at, resendFirst)
	}
	n := len(f.segments)
	f.segments = append(f.segments, segment{kind: kind, size: size, sent: leaves, at: at})
	if n == 0 && !f.link.held {
		w.moments.Put(&f.moment, at)
	} else if n == 0 {
		f.link.waiting = append(f.link.waiting, &f.moment)
	}
}

var messageNames = [...]string{"data", "opened", "end", "reset"}

func (m message) String() string { return messageNames[m] }

// Happen is called when the first segment arrives, or when it is sent again.
func (f *flow) Happen() {
	w, l := f.link.from.net, f.link
	switch {
	case len(f.segments) == 0:
		return
	case l.held:
		l.waiting = append(l.waiting, &f.moment)
		return
	case f.stuck && f.from.stack.outages != f.from.stack.node.Outages:
		f.drop() // nobody is left who would send it again
		f.to.orphaned()
		return
	case !l.Passes() || !l.Back().Passes() && (f.to.dead() || f.unacked >= unackedMost):
		f.resend()
		return
	case f.to.dead() && f.to.unix() && f.segments[0].kind == closing:
		f.drop() // the end of a direction is no loss
		return
	case f.to.dead():
		w.log(record.Arrived, l.from, l.to, "reset", 0)
		f.refuse()
		return
	case f.stuck:
		f.stuck = false
		at := moment.After(w.clock(), l.delay(0))
		for i := range f.segments {
			f.segments[i].at = max(f.segments[i].at, at)
		}
		w.moments.Put(&f.moment, f.segments[0].at)
		return
	}
	f.tries = 0
	for len(f.segments) > 0 && f.segments[0].at <= w.clock() {
		s := f.segments[0]
		f.segments = f.segments[1:]
		if f.unacked++; l.Back().Passes() {
			f.unacked = 0
		}
		w.log(record.Arrived, l.from, l.to, s.kind.String(), s.size)
		f.receive(s)
		if f.to.closed {
			break
		}
	}
	if len(f.segments) == 0 {
		f.segments = nil
	} else {
		w.moments.Put(&f.moment, max(f.segments[0].at, w.clock()))
	}
}

// unackedMost is how many segments are sent without an acknowledgement of the first.
const unackedMost = 10

// receive takes a segment at its end.
func (f *flow) receive(s segment) {
	to := f.to
	switch s.kind {
	case opening:
		at := f.opens
		f.opens = nil
		at.coming--
		if at.closed {
			to.abort = true
			to.Close()
			return
		}
		at.queue = append(at.queue, to)
		at.report(at, driver.Readable)
	case data:
		if !to.unix() && to.readShut && to.writeShut {
			to.fail(errReset) // nobody can want it, and the sender is told so
			f.refuse()
			return
		}
		f.arrived += s.size
		if to.packet() {
			f.packets = append(f.packets, s.size)
		}
		to.report(to, driver.Readable)
	case closing:
		f.over = true
		to.report(to, driver.Readable|driver.HangUp)
	case reset:
		to.fail(errReset)
	}
}

// unread reports whether something has arrived that was not read.
func (f *flow) unread() bool { return f.arrived > 0 || len(f.packets) > 0 }

// take reads bytes that have arrived, or a packet, of which it drops what has no room in p.
func (f *flow) take(p []byte) int {
	if len(f.packets) == 0 {
		n := copy(p, f.bytes[:f.arrived])
		f.discard(n)
		return n
	}
	size := f.packets[0]
	f.packets = f.packets[1:]
	n := copy(p, f.bytes[:size])
	f.discard(size)
	return n
}

// discard drops the first n bytes, and lets the sender go on if it waits for room.
func (f *flow) discard(n int) {
	f.arrived -= n
	if n == len(f.bytes) {
		f.bytes = f.bytes[:0]
	} else {
		f.bytes = f.bytes[:copy(f.bytes, f.bytes[n:])]
	}
	if f.blocked && !f.wakeup.moment.IsSet() && (!f.from.closed || len(f.kept) > 0) {
		f.link.from.net.in(&f.wakeup.moment, f.link.Back().delay(0))
	}
}

// Happen is called when the sender learns that there is room.
func (u *update) Happen() {
	f := u.flow
	w := f.link.from.net
	if f.from.closed && len(f.kept) == 0 {
		return
	}
	if f.from.closed && f.from.stack.outages != f.from.stack.node.Outages {
		f.keep(nil) // nobody is left who would send it
		f.to.orphaned()
		return
	}
	if !f.link.Back().Passes() {
		w.in(&u.moment, resendFirst)
		return
	}
	f.blocked = false
	f.sendKept()
	f.from.report(f.from, driver.Writable)
}

// resend notes that the first segment was lost, and tries again later, or gives up.
func (f *flow) resend() {
	w := f.link.from.net
	f.stuck = true
	if f.tries++; f.tries > sendTries {
		w.log(record.Struck, f.link.from, f.link.to, "timed out", 0)
		f.drop()
		f.from.fail(syscall.ETIMEDOUT)
		f.to.orphaned()
		return
	}
	w.in(&f.moment, min(resendFirst<<(f.tries-1), resendMost))
}

// refuse is called when a segment arrives at an end that is no more: the sender is
// reset.
func (f *flow) refuse() {
	f.segments = nil
	f.keep(nil)
	f.from.broken(f.link.Back().delay(60))
}

// dead reports whether the socket takes nothing more.
func (s *streamSocket) dead() bool { return s.closed || s.phase == finished }

// broken makes the stream fail with a reset that arrives after d.
func (s *streamSocket) broken(d time.Duration) {
	w := s.stack.net
	b := &breakage{stream: s}
	b.moment.What = b
	w.in(&b.moment, d)
}

// A breakage is a reset on its way.
type breakage struct {
	moment moment.Moment
	stream *streamSocket
	tries  int
}

func (b *breakage) Happen() {
	s := b.stream
	if s.closed || s.phase == finished {
		return
	}
	if l := s.link().Back(); !l.Passes() {
		// It is lost. What s sends again asks for another.
		if b.tries++; b.tries > sendTries {
			s.fail(syscall.ETIMEDOUT)
			return
		}
		s.stack.net.in(&b.moment, min(resendFirst<<(b.tries-1), resendMost))
		return
	}
	s.fail(errReset)
}

// fail ends both directions of a stream.
func (s *streamSocket) fail(err syscall.Errno) {
	if s.closed || s.phase == finished {
		return
	}
	w := s.stack.net
	if err == errReset && s.in.over && !s.unix() {
		err = syscall.EPIPE // the peer had ended already, and only a Write notices
	}
	s.err, s.phase = err, finished
	w.moments.Drop(&s.moment)
	s.stop()
	s.report(s, driver.Readable|driver.Writable|driver.HangUp)
}

// sever is that of socket. Of a listener it breaks also what was not accepted.
func (s *streamSocket) sever(a, b *Node) {
	for _, c := range s.queue {
		c.sever(a, b)
	}
	if s.peer != nil && (s.remoteNode == a || s.remoteNode == b) && s.remoteNode != s.stack.node {
		s.fail(errReset)
	}
}

// stop drops what s has sent.
func (s *streamSocket) stop() {
	if f := s.out; f != nil {
		w := s.stack.net
		w.moments.Drop(&f.moment)
		w.moments.Drop(&f.wakeup.moment)
		f.drop()
	}
}

// drop drops what is on its way.
func (f *flow) drop() {
	f.segments, f.stuck = nil, false
	f.keep(nil)
	if f.opens != nil {
		f.opens.coming--
		f.opens = nil
	}
}

// dropUnsent drops what has not left the machine, which sends it no more. What has left it
// arrives.
func (f *flow) dropUnsent() {
	w := f.link.from.net
	n, left := 0, f.arrived
	for ; n < len(f.segments) && !f.stuck && f.segments[n].sent <= w.clock(); n++ {
		left += f.segments[n].size
	}
	f.segments, f.bytes = f.segments[:n], f.bytes[:left]
	f.keep(nil)
	w.moments.Drop(&f.wakeup.moment)
	if n == 0 {
		w.moments.Drop(&f.moment)
		f.drop()
	}
}

// Close ends the stream as the system does: it sends what is left and then the end, or
// a reset if something was not read. The reset comes after what has left the machine.
func (s *streamSocket) Close() {
	if s.closed {
		return
	}
	w := s.stack.net
	s.remove()
	was := s.phase
	s.closed = true
	w.moments.Drop(&s.moment)
	switch {
	case was == listening:
		for _, c := range s.queue {
			c.abort = true
			c.Close()
		}
		s.queue = nil
	case was == connecting && s.peer != nil:
		s.stop()
	case was != established:
	case s.abort || s.in.unread():
		s.out.dropUnsent()
		s.out.push(0, reset)
	case !s.writeShut:
		s.endWrites()
	}
}

// gone ends the stream and sends nothing. The peer learns it from an answer, or from the
// lack of one.
func (s *streamSocket) gone() {
	if s.closed {
		return
	}
	s.remove()
	s.closed = true
	s.stack.net.moments.Drop(&s.moment)
	if s.phase == established {
		s.out.dropUnsent()
	} else {
		s.stop()
	}
	for _, c := range s.queue {
		c.gone()
	}
	if peer := s.peer; peer != nil && peer.stack != s.stack {
		peer.orphaned()
	}
}

// orphaned is called when the peer knows nothing of the connection any more, and has not said so.
func (s *streamSocket) orphaned() {
	if s.phase == established && !s.closed {
		s.stack.net.in(&s.moment, keepAlive)
	}
}

// probe asks whether a peer that has vanished is there again: then it knows nothing of
// the connection.
func (s *streamSocket) probe() {
	l := s.link()
	switch s.tries++; {
	case l.Passes() && l.Back().Passes():
		s.fail(errReset)
	case s.tries > keepTries:
		s.fail(syscall.ETIMEDOUT)
	default:
		s.stack.net.in(&s.moment, keepAlive)
	}
}
