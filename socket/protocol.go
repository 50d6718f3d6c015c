package socket

// A Protocol serves connections by callbacks, for programs with very many
// connections that are mostly idle. A connection costs a Transport and its
// place in a list; it has no task, no stack and no buffer.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"reflect"
	"runtime"
	"slices"
	"sync"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// The default limits, those of asyncio.
const (
	highDefault = 64 << 10
	lowPart     = 4 // Low is this part of High
)

// A Protocol has the callbacks of connections. One Protocol serves any number
// of connections; the state of one connection is in the Value of its Transport.
// Each field says what nil means. The fields must not change while it serves.
//
// The order of calls for each connection is a law: Connected once; Data any
// number of times; EOF at most once; Lost once, in every case. They run as
// callbacks of the loop, one at a time, and must not wait: a call that would
// wait panics. To wait, start a task with rondo.Go and the Transport's Context.
// That task may use the Transport as well.
//
// The callbacks of a connection run in a scope of their own, the one that Transport.Context
// returns. A panic in one of them, or a failure of a task of that scope, ends this connection and
// no other: it is aborted, Lost is called with the error, and OnError as well, once. The error of
// a panic is a *rondo.PanicError with its stack. runtime.Goexit ends the loop: everything is
// cancelled, so the waits of other tasks fail, some with context.Canceled, and Run calls Goexit
// in the end. Every connection still gets its Lost.
//
// A busy connection does not hold up the others: each is read once in its turn,
// and after 16 operations or 256 KiB tasks run.
type Protocol struct {
	// Connected is called before anything is read from the connection. nil does
	// nothing.
	Connected func(t *Transport)

	// Data is called with what has arrived. b is valid only until it returns:
	// all connections share it. nil drops the data.
	Data func(t *Transport, b []byte)

	// EOF is called when the peer has ended its side. If it returns true the connection stays
	// open for writing, until Close; if the peer is gone by then, a Write fails. If it returns
	// false, or is nil, the Transport is closed.
	EOF func(t *Transport) (keepOpen bool)

	// Lost is called when the connection is over. err is nil after Close,
	// Abort, or the end of both sides; the cause if the scope was cancelled; the
	// failure if a callback has panicked or a task has failed;
	// otherwise the error of the connection, a *net.OpError. The Transport
	// still has its addresses. nil does nothing.
	Lost func(t *Transport, err error)

	// PauseWriting is called once when more than High bytes are buffered, by
	// the Write that exceeded High and before it returns. ResumeWriting is
	// called when at most Low bytes are left, if the connection can still be
	// written to. A program that ignores PauseWriting may buffer any amount, unless
	// Limit is set.
	PauseWriting, ResumeWriting func(t *Transport)

	// High and Low are in bytes. If neither is set they are 64 KiB and 16 KiB.
	// If only High is set, Low is a quarter of it; if only Low is set, High is
	// four times Low. A Low above High panics.
	High, Low int

	// Limit is in bytes. A Write that would buffer more than Limit aborts the
	// connection: Write fails and Lost gets the same error, which is
	// ErrSlowPeer. 0 means no limit. A Limit below High panics.
	Limit int

	// Limits bound the times that a client may take, and how many connections one address may
	// open. They apply to the connections that Serve accepts. Attached connections have only the
	// limit Idle, because Attach does not know what they have done before. If a connection
	// exceeds a time, Lost gets an error that matches os.ErrDeadlineExceeded. There is no TLS, so
	// Handshake means nothing.
	Limits Limits

	// OnError is called with each failure of the program: a panic of a callback, or the joined
	// errors of the tasks of a connection when they have ended. Errors of the network go to Lost
	// alone. OnError is also called with an error of Accept after which Serve goes on, such as
	// syscall.EMFILE. It must not wait. nil means slog at level Error. A panic of OnError goes to
	// the Runner's OnError, with the error that it was called with; Serve goes on.
	OnError func(err error)

	counts      counts // of Attach, and of each Serve that has ended
	visits      addresses
	mu          sync.Mutex
	serving     []*counts                       // of each Serve; guarded by mu
	dispatchers map[context.Context]*dispatcher // of Attach
}

// limits returns High and Low with their defaults.
func (p *Protocol) limits(call string) (high, low int) {
	high, low = p.High, p.Low
	switch {
	case high == 0 && low == 0:
		high = highDefault
		low = high / lowPart
	case high == 0 && low > math.MaxInt/lowPart:
		high = math.MaxInt
	case high == 0:
		high = lowPart * low
	case low == 0:
		low = high / lowPart
	}
	if low < 0 || high < low {
		panic(fmt.Sprintf("rondo: socket.Protocol.%s with High %d and Low %d: it takes High >= Low >= 0", call, p.High, p.Low))
	}
	if p.Limit < 0 || p.Limit > 0 && p.Limit < high {
		panic(fmt.Sprintf("rondo: socket.Protocol.%s with Limit %d and High %d: it takes a Limit of at least High, or 0 for none", call, p.Limit, high))
	}
	p.Limits.mustHold("socket.Protocol." + call)
	return high, low
}

// ErrSlowPeer means that a connection of a Protocol was aborted because the peer
// reads more slowly than the program writes: more than Limit bytes were buffered.
var ErrSlowPeer = errors.New("rondo: the peer reads too slowly: the limit of buffered bytes is exceeded")

// Serve accepts connections from l until ctx is cancelled, or l is closed or
// fails. It closes l, and returns when each connection has had its Lost. If ctx
// is cancelled, Serve aborts the connections and returns the cause. If l ends,
// Serve closes the connections, which sends what is buffered, and returns the
// error of Accept; cancelling ctx cuts that short.
//
// l is a *Listener, a *net.TCPListener or a *net.UnixListener. Wrapped
// connections, such as those of crypto/tls, need a task that reads: use Server
// for them. After an error of Accept that more descriptors or memory would
// cure, Serve goes on, as Server does. One Protocol may serve several
// listeners, also on several loops. It suspends the task.
func (p *Protocol) Serve(ctx context.Context, l net.Listener) error {
	if l == nil {
		panic("rondo: socket.Protocol.Serve with a nil Listener")
	}
	high, low := p.limits("Serve")
	loop, err := loopOf(ctx, "Protocol.Serve")
	if err != nil {
		return err
	}
	if err := rondo.Check(ctx); err != nil {
		_ = l.Close()
		return err
	}
	if err := fd.Supported(loop); err != nil {
		return kernel.Wrap("socket.Protocol.Serve", err)
	}
	if l, err = adoptListener(loop, "Protocol.Serve", l); err != nil {
		return err
	}
	mine, ok := l.(*Listener)
	if !ok {
		return fmt.Errorf("rondo: socket.Protocol.Serve cannot take connections from a %T, use a Server: %w", l, errors.ErrUnsupported)
	}
	n := new(counts)
	defer p.count(n, loop, mine)()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		b := newDispatcher(p, n, loop, g, high, low)
		b.local = bound(mine.std)
		b.start()
		// Both are needed only if a callback that runs on this stack calls Goexit.
		defer b.abortAll(g, net.ErrClosed)
		defer mine.Close()
		err := p.accept(g, b, mine)
		_ = mine.Close()
		b.closeAll()
		if cause := b.wait(g); cause != nil {
			return cause
		}
		return err
	})
}

// accept adds each connection to the dispatcher.
func (p *Protocol) accept(g *rondo.Scope, b *dispatcher, l *Listener) error {
	var delay backOff
	for {
		s, peer, err := l.acceptStream()
		if err == nil {
			delay = 0
			d := b.loop.Driver()
			if b.counts.refused(p.visits.enter(&p.Limits, peer.Addr(), d.Time(d.Now()))) {
				s.Close(b.loop)
				continue
			}
			t := b.add(s, peer)
			t.set(visiting)
			b.guard(t, &p.Limits)
			continue
		}
		if g.Err() != nil {
			return context.Cause(g)
		}
		if !temporary(err) {
			return l.fail("accept", err)
		}
		if err := delay.after(g, l, err, func(err error) { p.report(b.loop, nil, err) }); err != nil {
			return err
		}
	}
}

// report calls OnError, or else the log. peer is nil for an error of Accept.
func (p *Protocol) report(loop kernel.Loop, peer net.Addr, err error) {
	defer contain(loop, "OnError of a socket.Protocol", err)
	if p.OnError != nil {
		p.OnError(err)
		return
	}
	logError(peer, err)
}

// Attach takes over a connection that was dialled or accepted: a *Conn of the
// loop, a *net.TCPConn or a *net.UnixConn. From then on c is closed for
// everyone who still has it. Connected is called after Attach has returned, so
// the caller can set the Value. Data that the system has received and nobody
// has read is passed to Data. What a bufio.Reader has already read from c is
// not.
//
// The scope of ctx owns the connection like a task: it ends only after Lost was
// called, and if it is cancelled the connection is aborted. All connections
// that are attached with one ctx share one task. So a program with many
// connections uses one ctx, that of the scope that owns them all.
//
// Of Limits only Idle applies, from the call of Attach on.
//
// Attach fails if c is a connection of another kind or of another loop, or if a task is reading
// or writing it. Then c is unchanged. Attach never suspends, may be called in a callback, and
// panics on a goroutine that is not on the loop.
func (p *Protocol) Attach(ctx context.Context, c net.Conn) (*Transport, error) {
	high, low := p.limits("Attach")
	loop, err := loopOf(ctx, "Protocol.Attach")
	if err != nil {
		return nil, err
	}
	mustBeInside(loop, "Protocol.Attach")
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := fd.Supported(loop); err != nil {
		return nil, kernel.Wrap("socket.Protocol.Attach", err)
	}
	var f *fd.FD
	switch c := c.(type) {
	case *Conn:
		f = c.fd
	case *net.TCPConn:
		f = fd.Adopt(loop, c)
	case *net.UnixConn:
		f = fd.Adopt(loop, c)
	default:
		return nil, fmt.Errorf("rondo: socket.Protocol.Attach cannot take over a %T: %w", c, errors.ErrUnsupported)
	}
	if f.Loop() != loop {
		return nil, fmt.Errorf("rondo: socket.Protocol.Attach of %v: it belongs to another loop", c.RemoteAddr())
	}
	peer := c.RemoteAddr()
	s, err := f.Detach()
	runtime.KeepAlive(c) // its collection would close the FD
	if err != nil {
		return nil, kernel.Wrap(fmt.Sprintf("socket.Protocol.Attach of %v", peer), err)
	}
	var d *dispatcher
	defer func() {
		if d == nil { // the scope has ended, and rondo.Go has panicked
			s.Close(loop)
		}
	}()
	d = p.dispatcherFor(ctx, loop, high, low)
	t := d.add(s, tcpPeer(peer))
	if p.Limits.Idle > 0 {
		d.guard(t, &Limits{Idle: p.Limits.Idle})
	}
	return t, nil
}

// dispatcherFor returns the dispatcher of ctx. If there is none it makes one,
// with a task that waits for its connections.
func (p *Protocol) dispatcherFor(ctx context.Context, loop kernel.Loop, high, low int) *dispatcher {
	// A ctx that cannot be compared cannot be found again.
	shared := reflect.ValueOf(ctx).Comparable()
	if shared {
		p.mu.Lock()
		b := p.dispatchers[ctx]
		p.mu.Unlock()
		if b != nil {
			return b
		}
	}
	b := newDispatcher(p, &p.counts, loop, ctx, high, low)
	p.mu.Lock()
	defer p.mu.Unlock()
	task := rondo.Go(ctx, func(own context.Context) error {
		if shared {
			defer func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				delete(p.dispatchers, ctx)
			}()
		}
		// It is needed only if a callback that runs on this stack calls Goexit.
		defer b.abortAll(own, net.ErrClosed)
		b.start()
		return b.wait(own)
	})
	if shared { // not before Go, which panics if the scope has ended
		if p.dispatchers == nil {
			p.dispatchers = make(map[context.Context]*dispatcher)
		}
		p.dispatchers[ctx] = b
	}
	loop.SetExempt(task, true) // without it no connection is served
	task.SetName("protocol")
	b.ctx = loop.SetServing(task)
	return b
}

// Stats returns the counters of the Protocol; those that only a Server has are 0. Any
// goroutine may call it; it never suspends.
func (p *Protocol) Stats() (s Stats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.add(&s)
	for _, n := range p.serving {
		n.add(&s)
	}
	return s
}

// count adds n, the counters of one call of Serve, to those of the Protocol until end is
// called.
func (p *Protocol) count(n *counts, loop kernel.Loop, l net.Listener) (end func()) {
	n.publish(loop, l)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.serving = append(p.serving, n)
	return func() {
		n.conceal(loop)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.counts.take(n)
		p.serving = slices.DeleteFunc(p.serving, func(other *counts) bool { return other == n })
	}
}
