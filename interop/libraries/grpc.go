package libraries

// gRPC with tasks: its transports run on goroutines, its handlers and its callers in tasks.

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"

	"github.com/rondo-go/rondo"
)

// serveGRPC serves until ctx is cancelled; calls that run then have the grace to end. Each
// handler is a task.
func serveGRPC(ctx context.Context, l net.Listener, grace time.Duration, register func(s *grpc.Server)) error {
	ending := ctx
	return rondo.Shield(ctx, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			s := grpc.NewServer(grpc.WaitForHandlers(true),
				grpc.UnaryInterceptor(func(rpc context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
					return inTask(g, rpc, func(ctx context.Context) (any, error) { return handle(ctx, request) })
				}),
				grpc.StreamInterceptor(func(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
					_, err := inTask(g, stream.Context(), func(ctx context.Context) (any, error) {
						return nil, handle(service, &serverStream{stream, ctx})
					})
					return err
				}))
			register(s)
			defer context.AfterFunc(ending, func() {
				defer time.AfterFunc(grace, s.Stop).Stop()
				s.GracefulStop()
			})()
			return rondo.OffloadFunc(g, func(context.Context) error { return s.Serve(l) })
		})
	})
}

// inTask runs a handler in a task of g, for a goroutine of gRPC that waits for it. The task is
// cancelled when the caller leaves, and at the caller's deadline.
func inTask(g *rondo.Scope, rpc context.Context, handle func(ctx context.Context) (any, error)) (answer any, err error) {
	err = context.Canceled // of a task that is cancelled before it begins
	ended := make(chan struct{})
	closed := rondo.LoopOf(g).Post(func() {
		task := g.Go(func(ctx context.Context) error {
			err = rondo.Contain(ctx, func(ctx context.Context) (err error) {
				answer, err = handle(&callContext{ctx, rpc})
				return err
			})
			return nil
		})
		stop := context.AfterFunc(rpc, func() { task.Cancel(context.Cause(rpc)) })
		task.OnDone(func() { stop(); close(ended) })
	})
	if closed != nil {
		return nil, closed
	}
	<-ended
	return answer, err
}

// A callContext is the scope of a handler's task, with the deadline and the values of the call.
type callContext struct {
	context.Context
	rpc context.Context
}

func (c *callContext) Deadline() (time.Time, bool) { return c.rpc.Deadline() }

func (c *callContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.rpc.Value(key)
}

// A serverStream suspends the task of a handler where the stream would block it.
type serverStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *serverStream) Context() context.Context { return s.ctx }

func (s *serverStream) SendMsg(m any) error {
	return rondo.OffloadFunc(s.ctx, func(context.Context) error { return s.ServerStream.SendMsg(m) })
}

func (s *serverStream) RecvMsg(m any) error {
	return rondo.OffloadFunc(s.ctx, func(context.Context) error { return s.ServerStream.RecvMsg(m) })
}

// inTasks are options for grpc.NewClient. A call then suspends the task that makes it.
var inTasks = []grpc.DialOption{
	grpc.WithUnaryInterceptor(func(ctx context.Context, method string, request, reply any, c *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return rondo.OffloadFunc(ctx, func(ctx context.Context) error { return call(ctx, method, request, reply, c, opts...) })
	}),
	grpc.WithStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, c *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		stream, err := rondo.Offload(ctx, func(context.Context) (grpc.ClientStream, error) { return open(ctx, d, c, method, opts...) })
		return &clientStream{stream, ctx}, err
	}),
}

// A clientStream suspends the task of a caller where the stream would block it.
type clientStream struct {
	grpc.ClientStream
	ctx context.Context
}

func (s *clientStream) SendMsg(m any) error {
	return rondo.OffloadFunc(s.ctx, func(context.Context) error { return s.ClientStream.SendMsg(m) })
}

func (s *clientStream) RecvMsg(m any) error {
	return rondo.OffloadFunc(s.ctx, func(context.Context) error { return s.ClientStream.RecvMsg(m) })
}
