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

// BenchmarkCluster has clients ask servers all the time: an operation is a request and
// its answer. It reports how much virtual time passes in a second of real time, and what
// a message costs.
func BenchmarkCluster(b *testing.B) {
	for _, hosts := range []int{15, 100, 500} {
		b.Run(fmt.Sprint(hosts), func(b *testing.B) {
			servers := hosts / 3
			clients := hosts - servers
			c := sim.Config{Seeds: 1, SeedsShort: 1, Exact: true, MaxSteps: 1 << 40, Network: sim.Network{Latency: time.Millisecond, Jitter: 10 * time.Millisecond, Tail: 1}}
			virtual := time.Duration(0)
			runs := 0
			b.ResetTimer()
			c.Cluster(b, func(ctx context.Context, w *sim.World) {
				runs++
				began := rondo.Now(ctx)
				for i := range servers {
					w.Host(fmt.Sprint("server", i), echoHost)
				}
				done := 0
				for i := range clients {
					w.Host(fmt.Sprint("client", i), func(ctx context.Context) error {
						conn, err := dialRetry(ctx, fmt.Sprintf("server%d:7", i%servers))
						if err != nil {
							return err
						}
						p := make([]byte, 64)
						for n := 0; n < b.N/clients+1; n++ {
							if _, err := conn.Write(p); err != nil {
								return err
							}
							if _, err := io.ReadFull(conn, p); err != nil {
								return err
							}
						}
						done++
						return nil
					})
				}
				for done < clients {
					_ = rondo.Sleep(ctx, time.Second)
				}
				virtual += rondo.Now(ctx).Sub(began)
			})
			b.StopTimer()
			requests := float64(runs) * float64((b.N/clients+1)*clients)
			b.ReportMetric(virtual.Seconds()/b.Elapsed().Seconds(), "x-real-time")
			b.ReportMetric(requests/b.Elapsed().Seconds(), "requests/s")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/requests/2, "us/message")
		})
	}
}
