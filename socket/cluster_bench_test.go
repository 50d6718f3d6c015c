package socket_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// A clusterShape is how many hosts of a cluster do what. One more is that of the test.
type clusterShape struct {
	servers, clients, idle int
	pause                  time.Duration // of a client, after each answer
}

// BenchmarkCluster has clients ask servers: an operation is a request and its answer, of
// 64 bytes each. A message takes from 5 to 10 ms. It reports how much virtual time passes
// in a second of real time, and what a message costs; with recorded=true in a seed whose
// events are recorded, as the first 20 are, and with recorded=false in one of the others.
func BenchmarkCluster(b *testing.B) {
	for _, shape := range []clusterShape{{5, 9, 0, 0}, {5, 9, 0, 100 * time.Millisecond}, {5, 9, 485, 0}, {100, 399, 0, 0}} {
		for _, recorded := range []bool{false, true} {
			hosts := 1 + shape.servers + shape.clients + shape.idle
			name := fmt.Sprintf("hosts=%d/clients=%d/pause=%v/recorded=%v", hosts, shape.clients, shape.pause, recorded)
			b.Run(name, func(b *testing.B) { benchmarkCluster(b, shape, recorded) })
		}
	}
}

func benchmarkCluster(b *testing.B, shape clusterShape, recorded bool) {
	const repeated = 20 // so many seeds run twice
	c := sim.Config{Seeds: repeated + 1, SeedsShort: repeated + 1, Exact: true, MaxSteps: 1 << 40}
	c.Network = sim.Network{Latency: 5 * time.Millisecond, Jitter: 5 * time.Millisecond, Tail: 1}
	if recorded {
		c.Seeds, c.SeedsShort = 1, 1
	}
	b.ReportAllocs()
	virtual, runs := time.Duration(0), 0
	c.Cluster(b, func(ctx context.Context, w *sim.World) {
		if runs++; !recorded && runs <= 2*repeated {
			return
		}
		if runs == 2 || !recorded {
			b.ResetTimer() // the first of two runs is not measured
		}
		began := rondo.Now(ctx)
		askServers(ctx, w, shape, b.N)
		virtual = rondo.Now(ctx).Sub(began)
	})
	b.StopTimer()
	took := b.Elapsed().Seconds()
	b.ReportMetric(virtual.Seconds()/took, "x-real-time")
	b.ReportMetric(float64(b.N)/took, "requests/s")
	b.ReportMetric(took/float64(2*b.N)*1e9, "ns/message")
}

// askServers returns when so many requests were begun, and the first client has ended.
func askServers(ctx context.Context, w *sim.World, shape clusterShape, requests int) {
	for i := range shape.servers {
		w.Host(fmt.Sprint("server", i), echoHost)
	}
	for i := range shape.idle {
		w.Host(fmt.Sprint("idle", i), func(ctx context.Context) error { return rondo.Sleep(ctx, 1000*time.Hour) })
	}
	over := rondo.NewFuture[bool](ctx)
	for i := range shape.clients {
		w.Host(fmt.Sprint("client", i), func(ctx context.Context) error {
			conn, err := dialRetry(ctx, fmt.Sprintf("server%d:7", i%shape.servers))
			for p := make([]byte, 64); err == nil && requests > 0; requests-- {
				if _, err = conn.Write(p); err == nil {
					_, err = io.ReadFull(conn, p)
				}
				if err == nil && shape.pause > 0 {
					err = rondo.Sleep(ctx, shape.pause)
				}
			}
			over.Set(true)
			return err
		})
	}
	_, _ = over.Wait(ctx)
}
