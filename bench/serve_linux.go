package main

// The echo servers of Rondo and the process that they run in: one handler in a
// task for each connection, the same handler in a goroutine for each, and the same
// work as the callbacks of a Protocol. The server with sessions is in
// session_linux.go.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

const anyPort = "127.0.0.1:0"

// serverKinds are the servers in this program. Each prints its address, and serves
// until ctx is cancelled.
var serverKinds = map[string]func(ctx context.Context, s serving) error{
	"rondo": serveRondo, "session": serveSession, "protocol": serveProtocol, "net": serveNet,
	"shard": serveShards, "http-shard": serveHTTPShards, "http-one": serveHTTPOne, "gnet": serveGnet, "gnet-loops": serveGnetLoops, "netpoll": serveNetpoll, "nbio": serveNbio,
	"fasthttp-rondo": serveFasthttpRondo, "fasthttp": serveFasthttp, "httptask": serveHTTPTask, "net-http": serveNetHTTP,
	"websocket-session": serveWebSocketSession, "websocket-coder": serveWebSocketCoder,
	"site-server": serveSite(siteByServer), "site-handler": serveSite(siteByHandler), "site-net-http": serveSite(siteByNetHTTP),
	"site-server-tls": serveSite(secureByServer), "site-net-http-tls": serveSite(secureByNetHTTP),
}

// serve is a server process. It answers "collect" when it has returned its garbage
// to the system.
func serve(args []string) (err error) {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	kind := flags.String("kind", "", "a name in serverKinds")
	var s serving
	flags.IntVar(&s.buffer, "buffer", 4096, "bytes of a connection's buffer")
	flags.IntVar(&s.computing, "computing", 0, "microseconds that a further task computes at a time")
	flags.IntVar(&s.hashed, "hashed", 0, "bytes that are hashed for each request")
	profile := flags.String("profile", "", "write a CPU profile to this `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	run, found := serverKinds[*kind]
	if !found {
		return fmt.Errorf("no server is called %q", *kind)
	}
	if *profile != "" {
		file, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- answer(collect)
	}()
	if err := run(ctx, s); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return <-ended
}

// collect answers "collect".
func collect(question string) (string, error) {
	if question != "collect" {
		return "", fmt.Errorf("no answer to %q", question)
	}
	debug.FreeOSMemory()
	return "collected", nil
}

// compute keeps the CPU busy for so many microseconds at a time, and calls yield in
// between, until yield fails.
func compute(microseconds int, yield func() error) error {
	long := time.Duration(microseconds) * time.Microsecond
	for {
		for began := time.Now(); time.Since(began) < long; {
		}
		if err := yield(); err != nil {
			return err
		}
	}
}

func serveRondo(ctx context.Context, s serving) error {
	return listenAndServe(ctx, s, func(ctx context.Context, l net.Listener) error {
		return socket.Serve(ctx, l, func(ctx context.Context, c net.Conn) error {
			handle(c, s)
			return nil
		})
	})
}

// listenAndServe runs a loop that serves by serve, beside a task that computes if the
// row has one.
func listenAndServe(ctx context.Context, s serving, serve func(ctx context.Context, l net.Listener) error) error {
	return rondo.Run(ctx, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", anyPort)
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		if s.computing > 0 {
			rondo.Go(ctx, func(ctx context.Context) error {
				return compute(s.computing, func() error { return rondo.Yield(ctx) })
			})
		}
		return serve(ctx, l)
	})
}

func serveProtocol(ctx context.Context, s serving) error {
	echo := socket.Protocol{Data: func(t *socket.Transport, b []byte) {
		// The load ends its connections with a reset, so an error is the usual end.
		_, _ = t.Write(b)
	}}
	return listenAndServe(ctx, s, echo.Serve)
}

func serveNet(ctx context.Context, s serving) error {
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	fmt.Println(l.Addr())
	if s.computing > 0 {
		go func() {
			// compute ends with the error of its yield, which is that of ctx.
			_ = compute(s.computing, func() error {
				runtime.Gosched()
				return ctx.Err()
			})
		}()
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return context.Cause(ctx)
		}
		go func() {
			defer c.Close()
			handle(c, s)
		}()
	}
}

// handle sends back what it reads until the connection ends. The load ends it with
// a reset, so an error is the usual end.
func handle(c net.Conn, s serving) {
	b := make([]byte, s.buffer)
	for {
		n, err := c.Read(b)
		if n > 0 {
			s.hash()
			if _, err := c.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
