//go:build unix

package embed_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
)

func init() { roles["other"] = otherRole }

// otherRole is the other side of a benchmark: it answers requests of "echo", and publishes
// as many messages of 64 bytes under "bulk" as a line says.
func otherRole(ctx context.Context) error {
	return rondo.OffloadFunc(ctx, func(context.Context) error {
		nc, err := natsgo.Connect(os.Getenv("RONDO_NATS_URL"))
		if err != nil {
			return err
		}
		defer nc.Close()
		if _, err := nc.Subscribe("echo", func(m *natsgo.Msg) { _ = m.Respond(m.Data) }); err != nil {
			return err
		}
		if err := nc.Flush(); err != nil {
			return err
		}
		fmt.Println("ready")
		data := make([]byte, 64)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			n := 0
			fmt.Sscan(in.Text(), &n)
			for range n {
				if err := nc.Publish("bulk", data); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// used returns the processor time that this process has used.
func used() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// compare measures what ours and theirs cost a unit, in turns, and reports the medians and
// their ratio.
func compare(b *testing.B, units int, ours, theirs func() error) {
	const rounds = 25
	var costs [2][]float64
	for b.Loop() {
		for round := range rounds + 1 {
			for i, side := range []func() error{ours, theirs} {
				before := used()
				if err := side(); err != nil {
					b.Fatal(err)
				}
				if round > 0 { // the first warms up
					costs[i] = append(costs[i], float64(used()-before)/float64(units))
				}
			}
		}
	}
	for i := range costs {
		slices.Sort(costs[i])
	}
	our, their := costs[0][len(costs[0])/2], costs[1][len(costs[1])/2]
	b.ReportMetric(our, "rondo-ns/unit")
	b.ReportMetric(their, "client-ns/unit")
	b.ReportMetric(our/their, "ratio")
	b.ReportMetric(0, "ns/op")
}

// others starts a server and the other side, each in a process of its own.
func others(b *testing.B) (url string, other *peer) {
	url = start(b, "server").must(b, "ready")
	other = start(b, "other", "RONDO_NATS_URL="+url)
	other.must(b, "ready")
	return url, other
}

// BenchmarkReceive compares the processor time of a message received by a task and by a
// callback of the client.
func BenchmarkReceive(b *testing.B) {
	const messages = 100_000
	url, other := others(b)
	nc, err := natsgo.Connect(url)
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	err = rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			c, err := nats.Connect(g, url)
			if err != nil {
				return err
			}
			ours := func() error {
				s, err := c.Subscribe(g, "bulk", 2*messages)
				if err != nil {
					return err
				}
				defer s.Close()
				if err := c.Flush(g); err != nil {
					return err
				}
				fmt.Fprintln(other.in, messages)
				for range messages {
					if _, err := s.Next(g); err != nil {
						return err
					}
				}
				return nil
			}
			theirs := func() error {
				return rondo.OffloadFunc(g, func(context.Context) error {
					n, done := 0, make(chan struct{})
					s, err := nc.Subscribe("bulk", func(*natsgo.Msg) {
						if n++; n == messages {
							close(done)
						}
					})
					if err != nil {
						return err
					}
					if err := nc.Flush(); err != nil {
						return err
					}
					fmt.Fprintln(other.in, messages)
					<-done
					return s.Unsubscribe()
				})
			}
			compare(b, messages, ours, theirs)
			g.Cancel(nil)
			return nil
		})
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRequest compares the processor time of a request, of 64 callers that are tasks
// and that are goroutines.
func BenchmarkRequest(b *testing.B) {
	const callers, each = 64, 400
	url, _ := others(b)
	nc, err := natsgo.Connect(url)
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	data := make([]byte, 64)
	err = rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			c, err := nats.Connect(g, url)
			if err != nil {
				return err
			}
			ours := func() error {
				return rondo.Group(g, func(g *rondo.Scope) error {
					for range callers {
						g.Go(func(ctx context.Context) error {
							for range each {
								if _, err := c.Request(ctx, "echo", data); err != nil {
									return err
								}
							}
							return nil
						})
					}
					return nil
				})
			}
			theirs := func() error {
				return rondo.OffloadFunc(g, func(context.Context) error {
					var all sync.WaitGroup
					errs := make(chan error, callers)
					for range callers {
						all.Go(func() {
							for range each {
								if _, err := nc.Request("echo", data, time.Minute); err != nil {
									errs <- err
									return
								}
							}
						})
					}
					all.Wait()
					close(errs)
					return <-errs
				})
			}
			compare(b, callers*each, ours, theirs)
			g.Cancel(nil)
			return nil
		})
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStoppedServer reports for how long a task was kept from running, at most in a
// second, while another task publishes to a server that is stopped; and the same beside a
// task that only yields, which is what the machine does. Both are medians.
func BenchmarkStoppedServer(b *testing.B) {
	const rounds = 7
	var held [2][]float64
	for b.Loop() {
		p := start(b, "server")
		url := p.must(b, "ready")
		for range rounds {
			for i := range held {
				longest, err := longestHold(url, p, i == 0)
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
func longestHold(url string, p *peer, publishes bool) (longest time.Duration, err error) {
	data := make([]byte, 64<<10)
	err = rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			c, err := nats.Connect(g, url, natsgo.DrainTimeout(1), natsgo.ErrorHandler(func(*natsgo.Conn, *natsgo.Subscription, error) {}))
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
