package main

// The verb echo.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

// An echoServer is one run of the verb. All of it belongs to its first loop, but the
// counts, which all loops change.
type echoServer struct {
	console *console
	addr    string
	grace   time.Duration
	loops   int
	server  socket.Server

	begun  time.Time
	ender  string
	served atomic.Int64          // connections that came
	cut    atomic.Int64          // those of them that did not end in time
	failed atomic.Int64          // those that broke off
	last   atomic.Pointer[error] // what the last of these said
	bytes  atomic.Int64          // what was sent back
}

func runEcho(c *console, args []string) error {
	e := &echoServer{console: c, addr: "127.0.0.1:7777", grace: 5 * time.Second}
	o := options{verb: "echo"}
	o.text(&e.addr, "addr", checkAddress)
	o.span(&e.grace, "grace", 0)
	o.loops(&e.loops)
	if err := o.parseAll(args); err != nil {
		return err
	}
	return onLoops(e.loops, "echo", e.main)
}

// checkAddress returns an error if addr is not host:port.
func checkAddress(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return usagef("--addr takes HOST:PORT such as 127.0.0.1:7777, not %q", addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return usagef("--addr takes a port from 0 to 65535, as in 127.0.0.1:7777, not %q", addr)
	}
	return nil
}

// main is the main task: it serves until it is told to end, and then as long as
// the connections need and the grace allows.
func (e *echoServer) main(ctx context.Context) error {
	l, err := socket.Listen(ctx, "tcp", e.addr)
	if err != nil {
		return listenError(e.addr, err)
	}
	e.begun = rondo.Now(ctx)
	e.server = socket.Server{Handler: e.handle, OnError: e.trouble}
	if err := signals.Serve(ctx, e, l, e.grace); err != nil {
		return err
	}
	return e.say(e.summary(rondo.Now(ctx)))
}

// say prints what comes after an interruption, on a terminal over the ^C that it
// shows.
func (e *echoServer) say(text string) error {
	if columns(e.console.out) > 0 {
		text = "\r" + text
	}
	return e.console.print(text)
}

// Serve says that it serves, when Ctrl-C ends it in order from then on.
func (e *echoServer) Serve(ctx context.Context, l net.Listener) error {
	if err := e.console.print(fmt.Sprintf("Listening on %s. Ctrl-C ends it.\n", l.Addr())); err != nil {
		return errors.Join(err, l.Close())
	}
	return serveOnLoops(ctx, &e.server, l)
}

// Shutdown lets the connections finish, and ends them when the grace is over.
func (e *echoServer) Shutdown(ctx context.Context) error {
	e.ender = signalName(signals.Received(ctx))
	n := e.server.Conns()
	closing := rondo.Go(ctx, e.server.Shutdown)
	// What follows is said when no more connections are accepted.
	if err := rondo.Yield(ctx); err == nil && n > 0 {
		err := e.say(fmt.Sprintf("%s: %s may go on for %s; the next Ctrl-C ends all at once.\n", e.ender, plural(n, "connection"), long(e.grace)))
		if err != nil {
			return err
		}
	}
	return closing.Wait(ctx)
}

// handle serves one connection.
func (e *echoServer) handle(ctx context.Context, c net.Conn) error {
	e.served.Add(1)
	n := int64(0)
	err := sendBack(c, make([]byte, piece), &n)
	e.bytes.Add(n)
	if err != nil && errors.Is(context.Cause(ctx), socket.ErrServerClosed) {
		e.cut.Add(1)
		return nil
	}
	return err
}

// sendBack sends back what comes from c until the other side has said all, and
// adds it to *bytes.
func sendBack(c net.Conn, buf []byte, bytes *int64) error {
	for {
		n, err := c.Read(buf)
		if n > 0 {
			sent, err := c.Write(buf[:n])
			*bytes += int64(sent)
			if err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// trouble is called when a connection fails, or cannot be accepted.
func (e *echoServer) trouble(c net.Conn, err error) {
	if c != nil {
		e.failed.Add(1)
		e.last.Store(&err)
		return
	}
	hint := ""
	if errors.Is(err, syscall.EMFILE) {
		hint = " (more files may be open after ulimit -n)"
	}
	// The server goes on even if this cannot be written.
	_, _ = fmt.Fprintf(e.console.err, "rondo echo: %s%s\n", strings.TrimPrefix(err.Error(), "rondo: "), hint)
}

// listenError says what to do about an address that cannot be listened on.
func listenError(addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is in use; choose another port, or 0 for any free one: --addr 127.0.0.1:0", addr)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s needs more rights to listen on; choose a port above 1023", addr)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is not an address of this machine; choose 127.0.0.1, or leave out the host to listen on all addresses", addr)
	}
	return fmt.Errorf("cannot listen on %s; choose another --addr: %w", addr, err)
}

// summary is what is said when it is over.
func (e *echoServer) summary(now time.Time) string {
	rows := [][]string{
		{"served", plural(int(e.served.Load()), "connection")},
		{"cut off", count(e.cut.Load())},
		{"sent back", size(float64(e.bytes.Load()))},
		{"up for", long(now.Sub(e.begun))},
	}
	if e.failed.Load() > 0 {
		rows = slices.Insert(rows, 2, []string{"broke off", fmt.Sprintf("%s, the last with: %v", count(e.failed.Load()), *e.last.Load())})
	}
	return "Ended by " + e.ender + ".\n\n" + indented(align(rows))
}
