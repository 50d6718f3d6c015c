package main

// Rivals in Go that poll sockets themselves: gnet and nbio, whose loops call back, and
// netpoll, whose loop starts a goroutine from a pool for each piece of data.

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"runtime"

	"github.com/cloudwego/netpoll"
	"github.com/lesismal/nbio"
	nbiolog "github.com/lesismal/nbio/logging"
	"github.com/panjf2000/gnet/v2"
	"golang.org/x/sys/unix"
)

// gnetEcho sends back what arrives, after what the row has it compute.
type gnetEcho struct {
	gnet.BuiltinEventEngine
	serving
	ctx context.Context
}

// gnetLog keeps gnet from writing to standard output, where the answers go.
type gnetLog struct{}

func (gnetLog) Debugf(string, ...any) {}

func (gnetLog) Infof(string, ...any) {}

func (gnetLog) Warnf(string, ...any) {}

func (gnetLog) Errorf(format string, args ...any) { log.Printf(format, args...) }

func (gnetLog) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

// OnBoot prints the address, and lets the end of ctx stop the engine.
func (e *gnetEcho) OnBoot(engine gnet.Engine) gnet.Action {
	fd, err := engine.Dup()
	if err != nil {
		log.Fatal(err)
	}
	defer unix.Close(fd)
	address, err := unix.Getsockname(fd)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("127.0.0.1:%d\n", address.(*unix.SockaddrInet4).Port)
	context.AfterFunc(e.ctx, func() {
		// The process ends next, whether or not the engine stopped gracefully.
		_ = engine.Stop(context.Background())
	})
	return gnet.None
}

// OnTraffic is called when something has arrived.
func (e *gnetEcho) OnTraffic(c gnet.Conn) gnet.Action {
	b, err := c.Next(-1)
	if err == nil {
		e.hash()
		_, err = c.Write(b)
	}
	if err != nil {
		return gnet.Close
	}
	return gnet.None
}

func serveGnet(ctx context.Context, s serving) error { return serveGnetOn(ctx, s, 1) }

// serveGnetLoops serves on a loop of gnet for each CPU.
func serveGnetLoops(ctx context.Context, s serving) error {
	return serveGnetOn(ctx, s, runtime.NumCPU())
}

func serveGnetOn(ctx context.Context, s serving, loops int) error {
	return gnet.Run(&gnetEcho{ctx: ctx, serving: s}, "tcp://"+anyPort,
		gnet.WithNumEventLoop(loops), gnet.WithReadBufferCap(s.buffer), gnet.WithTCPNoDelay(gnet.TCPNoDelay), gnet.WithLogger(gnetLog{}))
}

func serveNbio(ctx context.Context, s serving) error {
	nbiolog.SetLevel(nbiolog.LevelError)
	engine := nbio.NewEngine(nbio.Config{
		Network: "tcp", Addrs: []string{anyPort}, NPoller: 1, ReadBufferSize: s.buffer,
		Listen: func(network, address string) (net.Listener, error) {
			l, err := net.Listen(network, address)
			if err == nil {
				fmt.Println(l.Addr())
			}
			return l, err
		},
	})
	engine.OnData(func(c *nbio.Conn, data []byte) {
		// What cannot be sent at once is kept, and data is used again.
		if _, err := c.Write(append([]byte(nil), data...)); err != nil {
			_ = c.Close()
		}
	})
	if err := engine.Start(); err != nil {
		return err
	}
	<-ctx.Done()
	engine.Stop()
	return context.Cause(ctx)
}

func serveNetpoll(ctx context.Context, s serving) error {
	netpoll.SetLoggerOutput(io.Discard)
	l, err := netpoll.CreateListener("tcp", anyPort)
	if err != nil {
		return err
	}
	loop, err := netpoll.NewEventLoop(func(_ context.Context, c netpoll.Connection) error {
		r, w := c.Reader(), c.Writer()
		b, err := r.Next(r.Len())
		if err != nil {
			return err
		}
		if _, err := w.WriteBinary(b); err != nil {
			return err
		}
		// b is sent before the reader may use its memory again.
		if err := w.Flush(); err != nil {
			return err
		}
		return r.Release()
	})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		// The process ends next, whether or not the loop stopped gracefully.
		_ = loop.Shutdown(context.Background())
	})()
	fmt.Println(l.Addr())
	if err := loop.Serve(l); err != nil {
		return err
	}
	return context.Cause(ctx)
}
