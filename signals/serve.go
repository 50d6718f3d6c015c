package signals

import (
	"context"
	"net"
	"os"
	"time"

	"github.com/rondo-go/rondo"
)

// A Server serves until it is shut down. A *socket.Server is one, and so is a *httptask.Server.
type Server interface {
	// Serve serves l. It ends when ctx is cancelled, and after Shutdown with an error
	// that says no more than that.
	Serve(ctx context.Context, l net.Listener) error

	// Shutdown stops accepting and waits for what is being served. If ctx is cancelled
	// first, it ends what is left and returns.
	Shutdown(ctx context.Context) error
}

// Serve serves l until the first of the signals comes, and then shuts s down: what is
// being served may go on for as long as grace, and is ended after that. This is an end
// that was asked for, so Serve returns nil, and the program can end with status 0. After
// the first signal, the signals have their default effect, so that a second one ends the
// program at once.
//
//	l, err := socket.Listen(ctx, "tcp", "localhost:7777")
//	if err != nil {
//		return err
//	}
//	return signals.Serve(ctx, &socket.Server{Handler: handle}, l, 5*time.Second)
//
// If no signals are given, they are SIGINT, which is Ctrl-C, and SIGTERM. If serving
// fails without a signal, Serve returns that error; if ctx is cancelled, the cause, and
// nothing gets any grace. If it is cancelled already, Serve closes l. An error of Shutdown
// is returned, but not that the grace was over. Serve suspends the task. It panics if a
// signal is nil or cannot be caught.
func Serve(ctx context.Context, s Server, l net.Listener, grace time.Duration, sigs ...os.Signal) error {
	if s == nil {
		panic("rondo: signals.Serve with a nil Server")
	}
	check("Serve", sigs)
	if err := rondo.Check(ctx); err != nil {
		if l != nil && rondo.Current(ctx) != nil {
			_ = l.Close() // as s does if ctx is cancelled a moment later
		}
		return err
	}
	var f first
	defer f.release()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		asked := rondo.Event{Name: "signal"}
		var sig os.Signal
		f.catch(g, func(err error) { sig = err.(Error).Sig; asked.Set() }, sigs)
		server := g.Go(func(ctx context.Context) error {
			if err := s.Serve(ctx, l); !asked.IsSet() || rondo.Check(ctx) != nil {
				return err
			}
			return nil
		})
		server.SetName("server")
		if i, err := rondo.Select(g, asked.WaitCase(), server.WaitCase()); i != 0 {
			return err
		}
		err := rondo.Timeout(context.WithValue(g, received{}, sig), grace, s.Shutdown)
		if _, several := err.(interface{ Unwrap() []error }); !several && rondo.TimedOut(g, err) {
			return nil
		}
		return err
	})
}

// received is the key of the signal in the ctx of Shutdown.
type received struct{}

// Received returns the signal for which Serve has called Shutdown with ctx, to log it;
// nil with any other ctx. It never suspends.
func Received(ctx context.Context) os.Signal {
	s, _ := ctx.Value(received{}).(os.Signal)
	return s
}
