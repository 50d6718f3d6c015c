package libraries

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	reflected "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/broadcast"
)

// A ward is a health service whose state is that of tasks: it has no lock.
type ward struct {
	health.UnimplementedHealthServer
	status   *broadcast.Watch[health.HealthCheckResponse_ServingStatus]
	came     map[string]int
	ended    map[string]error // how waits of Check ended
	limited  map[string]bool  // whether it had a deadline
	watching int
}

// Check answers from the state, or waits for ever, or panics.
func (w *ward) Check(ctx context.Context, q *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	w.came[q.Service]++
	switch q.Service {
	case "limited", "forever":
		_, w.limited[q.Service] = ctx.Deadline()
		w.ended[q.Service] = rondo.WaitCanceled(ctx)
		return nil, w.ended[q.Service]
	case "panic":
		panic("a fault of the handler")
	case "who":
		user := metadata.ValueFromIncomingContext(ctx, "user")
		if rondo.Current(ctx) == nil || len(user) != 1 {
			return nil, status.Errorf(codes.InvalidArgument, "a task %v, users %v", rondo.Current(ctx), user)
		}
	}
	return &health.HealthCheckResponse{Status: w.status.Value()}, nil
}

// Watch sends each state until the last.
func (w *ward) Watch(_ *health.HealthCheckRequest, stream grpc.ServerStreamingServer[health.HealthCheckResponse]) error {
	w.watching++
	defer func() { w.watching-- }()
	for now := range w.status.Reader().All(stream.Context()) {
		if err := stream.Send(&health.HealthCheckResponse{Status: now}); err != nil {
			return err
		}
	}
	return rondo.Check(stream.Context())
}

// withWard serves a ward, and calls use with a client of it and a function that ends the server.
func withWard(t *testing.T, grace time.Duration, use func(ctx context.Context, w *ward, c *grpc.ClientConn, end func()) error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := grpc.NewClient(l.Addr().String(), append(inTasks, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	run(t, func(ctx context.Context) error {
		w := &ward{status: broadcast.NewWatch(health.HealthCheckResponse_SERVING), came: map[string]int{}, ended: map[string]error{}, limited: map[string]bool{}}
		served := rondo.Go(ctx, func(ctx context.Context) error {
			return serveGRPC(ctx, l, grace, func(s *grpc.Server) {
				health.RegisterHealthServer(s, w)
				reflection.RegisterV1(s)
			})
		})
		err := use(ctx, w, c, func() { served.Cancel(nil) })
		served.Cancel(nil)
		if err := served.Wait(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Error("the server returned", err)
		}
		if w.watching != 0 {
			t.Error("the server has ended and a handler has not")
		}
		return errors.Join(err, rondo.OffloadFunc(ctx, func(context.Context) error { return c.Close() }))
	})
}

// TestGRPC has many tasks call handlers that run in tasks, with metadata.
func TestGRPC(t *testing.T) {
	const calls = 50
	withWard(t, time.Minute, func(ctx context.Context, w *ward, c *grpc.ClientConn, _ func()) error {
		ctx = metadata.AppendToOutgoingContext(ctx, "user", "ada")
		err := all(ctx, calls, func(ctx context.Context, _ int) error {
			answer, err := health.NewHealthClient(c).Check(ctx, &health.HealthCheckRequest{Service: "who"})
			if err == nil && answer.Status != health.HealthCheckResponse_SERVING {
				t.Error(answer.Status)
			}
			return err
		})
		if w.came["who"] != calls {
			t.Errorf("%d calls of %d came", w.came["who"], calls)
		}
		return err
	})
}

// TestGRPCEnds: a deadline of the caller, and a caller that leaves, end the handler's wait, and a
// handler that panics fails its call alone.
func TestGRPCEnds(t *testing.T) {
	withWard(t, time.Minute, func(ctx context.Context, w *ward, c *grpc.ClientConn, _ func()) error {
		client := health.NewHealthClient(c)
		check := func(ctx context.Context, service string) error {
			_, err := client.Check(ctx, &health.HealthCheckRequest{Service: service})
			return err
		}
		if err := check(ctx, ""); err != nil { // now there is a connection
			return err
		}
		err := rondo.Timeout(ctx, 50*time.Millisecond, func(ctx context.Context) error { return check(ctx, "limited") })
		// The deadline goes with the call: which end sees it first is chance.
		if !rondo.TimedOut(ctx, err) && status.Code(err) != codes.DeadlineExceeded {
			t.Error("the deadline of the caller:", err)
		}
		if err := until(ctx, func() bool { return w.came["limited"] == 0 || w.ended["limited"] != nil }); err != nil {
			return err
		}
		asking := rondo.Go(ctx, func(ctx context.Context) error { return check(ctx, "forever") })
		if err := until(ctx, func() bool { return w.came["forever"] > 0 }); err != nil {
			return err
		}
		asking.Cancel(nil)
		_ = asking.Wait(ctx)
		if err := until(ctx, func() bool { return w.ended["forever"] != nil }); err != nil {
			return err
		}
		if w.limited["forever"] || w.came["limited"] > 0 && !w.limited["limited"] {
			t.Errorf("the handlers had deadlines: %v", w.limited)
		}
		if err := check(ctx, "panic"); status.Code(err) != codes.Unknown {
			t.Error("a handler that panics answers", err)
		}
		return check(ctx, "")
	})
}

// TestGRPCStreams: a server sends while state changes, and both sides of a stream talk in turns.
func TestGRPCStreams(t *testing.T) {
	withWard(t, time.Minute, func(ctx context.Context, w *ward, c *grpc.ClientConn, _ func()) error {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			watch, err := health.NewHealthClient(c).Watch(g, new(health.HealthCheckRequest))
			if err != nil {
				return err
			}
			for _, next := range []health.HealthCheckResponse_ServingStatus{health.HealthCheckResponse_NOT_SERVING, health.HealthCheckResponse_SERVING, 0} {
				if answer, err := watch.Recv(); err != nil || answer.Status != w.status.Value() {
					t.Errorf("%v, %v", answer, err)
				}
				w.status.Set(next)
			}
			g.Cancel(nil)
			return nil
		})
		if err != nil {
			return err
		}
		if err := until(ctx, func() bool { return w.watching == 0 }); err != nil {
			return err
		}
		talk, err := reflected.NewServerReflectionClient(c).ServerReflectionInfo(ctx)
		if err != nil {
			return err
		}
		for range 10 {
			question := &reflected.ServerReflectionRequest{MessageRequest: new(reflected.ServerReflectionRequest_ListServices)}
			if err := talk.Send(question); err != nil {
				return err
			}
			if answer, err := talk.Recv(); err != nil || len(answer.GetListServicesResponse().GetService()) != 2 {
				t.Errorf("%v, %v", answer, err)
			}
		}
		if err := talk.CloseSend(); err != nil {
			return err
		}
		if _, err := talk.Recv(); !errors.Is(err, io.EOF) {
			t.Error("after the end:", err)
		}
		return nil
	})
}

// TestGRPCGrace: a call that runs when the server ends may end within the grace, and is cancelled
// after it.
func TestGRPCGrace(t *testing.T) {
	for _, grace := range []time.Duration{time.Hour, time.Millisecond} {
		withWard(t, grace, func(ctx context.Context, w *ward, c *grpc.ClientConn, end func()) error {
			client := health.NewHealthClient(c)
			watch, err := client.Watch(ctx, new(health.HealthCheckRequest))
			if err != nil {
				return err
			}
			if _, err := watch.Recv(); err != nil {
				return err
			}
			end()
			if grace == time.Hour {
				for err == nil { // until no more calls are taken
					_, err = client.Check(ctx, new(health.HealthCheckRequest))
				}
				w.status.Set(health.HealthCheckResponse_NOT_SERVING)
				if answer, err := watch.Recv(); err != nil || answer.Status != health.HealthCheckResponse_NOT_SERVING {
					t.Errorf("within the grace: %v, %v", answer, err)
				}
				w.status.Close()
			}
			if _, err := watch.Recv(); errors.Is(err, io.EOF) != (grace == time.Hour) {
				t.Errorf("with a grace of %v the stream ends with %v", grace, err)
			}
			return nil
		})
	}
}
