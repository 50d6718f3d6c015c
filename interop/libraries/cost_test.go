package libraries

// What the way through the loop adds to a call of a library, beside the same call of a goroutine:
// go test ./interop/libraries -run '^$' -bench .

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/broadcast"
	"github.com/rondo-go/rondo/interop/internal/peer"
)

// BenchmarkQuery reads one row, in PostgreSQL and in SQLite.
func BenchmarkQuery(b *testing.B) {
	source := peer.Postgres(b)
	for name, db := range map[string]*bank{"postgres": {open(b, "pgx", source)}, "sqlite": {openSQLite(b)}} {
		b.Run(name+"/goroutine", func(b *testing.B) {
			for b.Loop() {
				var n int
				if err := db.db.QueryRowContext(b.Context(), "select balance from accounts where id = $1", 1).Scan(&n); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/task", func(b *testing.B) {
			run(b, func(ctx context.Context) error {
				for b.Loop() {
					if _, err := db.balance(ctx, 1); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// BenchmarkRPC calls a handler of gRPC.
func BenchmarkRPC(b *testing.B) {
	question := new(health.HealthCheckRequest)
	b.Run("goroutine", func(b *testing.B) {
		l, s := listen(b), grpc.NewServer()
		health.RegisterHealthServer(s, &ward{status: broadcast.NewWatch(health.HealthCheckResponse_SERVING), came: map[string]int{}})
		go func() { _ = s.Serve(l) }()
		defer s.Stop()
		c := dial(b, l)
		for b.Loop() {
			if _, err := health.NewHealthClient(c).Check(b.Context(), question); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("task", func(b *testing.B) {
		l := listen(b)
		run(b, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				w := &ward{status: broadcast.NewWatch(health.HealthCheckResponse_SERVING), came: map[string]int{}}
				g.Go(func(ctx context.Context) error {
					return serveGRPC(ctx, l, time.Second, func(s *grpc.Server) { health.RegisterHealthServer(s, w) })
				})
				c := dial(b, l, inTasks...)
				for b.Loop() {
					if _, err := health.NewHealthClient(c).Check(g, question); err != nil {
						return err
					}
				}
				g.Cancel(nil)
				return nil
			})
		})
	})
}

func listen(b *testing.B) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func dial(b *testing.B, l net.Listener, opts ...grpc.DialOption) *grpc.ClientConn {
	c, err := grpc.NewClient(l.Addr().String(), append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c
}
