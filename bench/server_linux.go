package main

// This file has the servers of the rows echo and idle: one handler in a task for
// each connection, the same one in a goroutine for each, and the same work as the
// callbacks of a Protocol.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

const anyPort = "127.0.0.1:0"

// serve is a server process: it prints its address and answers "cpu" and
// "memory".
func serve(args []string) (err error) {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	kind := flags.String("kind", "", "rondo, protocol, net, fasthttp-rondo, fasthttp or net-http")
	buffer := flags.Int("buffer", 4096, "bytes of a connection's buffer")
	profile := flags.String("profile", "", "write a CPU profile to this `file`")
	if err := flags.Parse(args); err != nil {
		return err
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
		ended <- answer(about)
	}()
	switch *kind {
	case "rondo":
		err = serveRondo(ctx, *buffer)
	case "session":
		err = serveSession(ctx, *buffer)
	case "protocol":
		err = serveProtocol(ctx)
	case "net":
		err = serveNet(ctx, *buffer)
	case "fasthttp-rondo":
		err = serveFasthttpRondo(ctx)
	case "fasthttp":
		err = serveFasthttp(ctx)
	case "httptask":
		err = serveHTTPTask(ctx)
	case "net-http":
		err = serveNetHTTP(ctx)
	default:
		return fmt.Errorf("no server is called %q", *kind)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return <-ended
}

// about answers a question about this process.
func about(question string) (string, error) {
	switch question {
	case "cpu":
		n, err := processorTime()
		return strconv.FormatInt(n, 10), err
	case "memory":
		// Garbage must not count as memory of the connections, so every server
		// returns it to the system first.
		debug.FreeOSMemory()
		return resident()
	}
	return "", fmt.Errorf("no answer to %q", question)
}

// resident returns the resident memory of this process in bytes: VmRSS in proc(5).
func resident() (string, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "VmRSS:"); found {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return strconv.FormatInt(kib*1024, 10), err
		}
	}
	return "", errors.New("/proc/self/status: no VmRSS")
}

func serveRondo(ctx context.Context, buffer int) error {
	return rondo.Run(ctx, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", anyPort)
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		return socket.Serve(ctx, l, func(ctx context.Context, c net.Conn) error {
			handle(c, buffer)
			return nil
		})
	})
}

func serveProtocol(ctx context.Context) error {
	echo := socket.Protocol{Data: func(t *socket.Transport, b []byte) {
		// The load ends its connections with a reset, so an error is the usual end.
		_, _ = t.Write(b)
	}}
	return rondo.Run(ctx, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", anyPort)
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		return echo.Serve(ctx, l)
	})
}

func serveNet(ctx context.Context, buffer int) error {
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	fmt.Println(l.Addr())
	for {
		c, err := l.Accept()
		if err != nil {
			return context.Cause(ctx)
		}
		go func() {
			defer c.Close()
			handle(c, buffer)
		}()
	}
}

// handle sends back what it reads until the connection ends. The load ends it with
// a reset, so an error is the usual end.
func handle(c net.Conn, buffer int) {
	b := make([]byte, buffer)
	for {
		n, err := c.Read(b)
		if n > 0 {
			if _, err := c.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
