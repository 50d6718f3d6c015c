//go:build unix

package embed_test

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
)

// BenchmarkStoppedServer reports for how long a task was kept from running, at most in a
// second, while another task publishes to a server that is stopped; and the same beside a
// task that only yields, which is what the machine does. Both are medians.
func BenchmarkStoppedServer(b *testing.B) {
	const rounds = 7
	var held [2][]float64
	for b.Loop() {
		p := start(b)
		for range rounds {
			for i := range held {
				longest, err := longestHold(p, i == 0)
				if err != nil {
					b.Fatal(err)
				}
				held[i] = append(held[i], float64(longest.Microseconds())/1000)
			}
		}
		p.kill()
	}
	for i, unit := range []string{"held-ms", "held-without-ms"} {
		slices.Sort(held[i])
		b.ReportMetric(held[i][len(held[i])/2], unit)
	}
	b.ReportMetric(held[0][len(held[0])-1], "worst-ms")
	b.ReportMetric(held[1][len(held[1])-1], "worst-without-ms")
	b.ReportMetric(0, "ns/op")
}

// longestHold returns for how long a task did not run, at most, in a second.
func longestHold(p *peer, publishes bool) (longest time.Duration, err error) {
	data := make([]byte, 64<<10)
	err = rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			c, err := nats.Connect(g, p.url, natsgo.DrainTimeout(1), natsgo.ErrorHandler(func(*natsgo.Conn, *natsgo.Subscription, error) {}))
			if err != nil {
				return err
			}
			if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
				return err
			}
			g.Go(func(ctx context.Context) (err error) {
				for err == nil {
					if err = rondo.Yield(ctx); err == nil && publishes {
						err = c.Publish(ctx, "bulk", data)
					}
				}
				return err
			})
			for last, end := time.Now(), time.Now().Add(time.Second); last.Before(end); {
				if err := rondo.Yield(g); err != nil {
					return err
				}
				now := time.Now()
				longest, last = max(longest, now.Sub(last)), now
			}
			g.Cancel(nil)
			return nil
		})
	})
	return longest, errors.Join(err, p.Process.Signal(syscall.SIGCONT))
}
