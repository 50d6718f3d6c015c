package embed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
)

// withConsumer runs body with a consumer of a stream that has n jobs, which are numbers.
func withConsumer(t *testing.T, n int, config jetstream.ConsumerConfig, body func(g *rondo.Scope, js jetstream.JetStream, consumer jetstream.Consumer) error) {
	t.Helper()
	run(t, withStore(t), func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		js, err := jetStream(c)
		if err != nil {
			return err
		}
		config.Durable = "workers"
		consumer, err := rondo.Offload(g, func(context.Context) (jetstream.Consumer, error) {
			ctx := context.Background()
			if _, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "JOBS", Subjects: []string{"job.>"}}); err != nil {
				return nil, err
			}
			return js.CreateOrUpdateConsumer(ctx, "JOBS", config)
		})
		if err != nil {
			return err
		}
		for i := range n {
			if err := nats.Enqueue(g, js, "job.a", "", fmt.Append(nil, i)); err != nil {
				return err
			}
		}
		return body(g, js, consumer)
	})
}

// TestWorkWithinLimits: Work asks for no more than its consumer allows, and does not make
// room for more jobs than there can be.
func TestWorkWithinLimits(t *testing.T) {
	for name, config := range map[string]jetstream.ConsumerConfig{
		"batch":   {MaxRequestBatch: 2},
		"expires": {MaxRequestExpires: time.Second},
		"none":    {},
	} {
		t.Run(name, func(t *testing.T) {
			const n = 5
			withConsumer(t, n, config, func(g *rondo.Scope, _ jetstream.JetStream, consumer jetstream.Consumer) error {
				return rondo.Timeout(g, 20*time.Second, func(ctx context.Context) error {
					return rondo.Group(ctx, func(g *rondo.Scope) error {
						ran := rondo.NewQueue[string](0)
						err := nats.Work(g, consumer, 1<<30, func(ctx context.Context, m jetstream.Msg) error {
							return ran.Put(ctx, string(m.Data()))
						})
						if err != nil {
							return err
						}
						for range n {
							if _, err := ran.Get(g); err != nil {
								return err
							}
						}
						g.Cancel(nil)
						return nil
					})
				})
			})
		})
	}
}

// TestWorkNeedsAcks: a consumer by which jobs would be lost is refused.
func TestWorkNeedsAcks(t *testing.T) {
	for _, policy := range []jetstream.AckPolicy{jetstream.AckNonePolicy, jetstream.AckAllPolicy} {
		withConsumer(t, 0, jetstream.ConsumerConfig{AckPolicy: policy}, func(g *rondo.Scope, js jetstream.JetStream, consumer jetstream.Consumer) error {
			ordered, err := rondo.Offload(g, func(ctx context.Context) (jetstream.Consumer, error) {
				return js.OrderedConsumer(ctx, "JOBS", jetstream.OrderedConsumerConfig{})
			})
			if err != nil {
				return err
			}
			for _, c := range []jetstream.Consumer{consumer, ordered} {
				err := nats.Work(g, c, 1, func(context.Context, jetstream.Msg) error { return nil })
				if err == nil || !strings.Contains(err.Error(), "jetstream.AckExplicitPolicy") {
					t.Errorf("%v, %T: %v", policy, c, err)
				}
			}
			return nil
		})
	}
}

// TestPoison: what the log says of a job that fails is what becomes of it.
func TestPoison(t *testing.T) {
	var log bytes.Buffer // Work logs in tasks, and the loop has ended when it is read
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	withConsumer(t, 2, jetstream.ConsumerConfig{MaxDeliver: 2}, func(g *rondo.Scope, js jetstream.JetStream, consumer jetstream.Consumer) error {
		ended := rondo.NewQueue[string](0)
		err := nats.Work(g, consumer, 2, func(ctx context.Context, m jetstream.Msg) error {
			id := string(m.Data())
			if id == "1" {
				if err := rondo.OffloadFunc(ctx, func(context.Context) error { return m.Term() }); err != nil {
					return err
				}
			}
			return errors.Join(ended.Put(ctx, id), errors.New("poison"))
		})
		if err != nil {
			return err
		}
		for range 3 {
			if _, err := ended.Get(g); err != nil {
				return err
			}
		}
		// The log line comes after the server has been told.
		for {
			i, err := rondo.Offload(g, func(ctx context.Context) (*jetstream.ConsumerInfo, error) { return consumer.Info(ctx) })
			if err != nil {
				return err
			}
			if i.NumAckPending == 0 && strings.Count(log.String(), "poison") == 3 {
				return nil
			}
			if err := rondo.Sleep(g, 10*time.Millisecond); err != nil {
				return err
			}
		}
	})
	for _, want := range []string{"is delivered again", "for the last time that its consumer allows", "had answered the message itself"} {
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("%q %d times in\n%s", want, n, &log)
		}
	}
}

// TestBackOff: a job that fails is delivered again after the time that its consumer's list says,
// and the log says so.
func TestBackOff(t *testing.T) {
	var log bytes.Buffer // Work logs in tasks, and the loop has ended when it is read
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	config := jetstream.ConsumerConfig{MaxDeliver: 4, BackOff: []time.Duration{30 * time.Millisecond, 70 * time.Millisecond}}
	withConsumer(t, 1, config, func(g *rondo.Scope, js jetstream.JetStream, consumer jetstream.Consumer) error {
		ended := rondo.NewQueue[bool](0)
		err := nats.Work(g, consumer, 1, func(ctx context.Context, m jetstream.Msg) error {
			meta, err := m.Metadata()
			if err != nil {
				return err
			}
			if meta.NumDelivered < 4 {
				return errors.New("not yet")
			}
			return ended.Put(ctx, true)
		})
		if err != nil {
			return err
		}
		_, err = ended.Get(g)
		return err
	})
	for text, want := range map[string]int{"after=30ms": 1, "after=70ms": 2, "after=": 3} {
		if n := strings.Count(log.String(), text); n != want {
			t.Errorf("%q %d times, want %d, in\n%s", text, n, want, &log)
		}
	}
}

// TestMaxBytes: the jobs that run have no more bytes than the Worker says, however many may run.
// One that is larger runs alone.
func TestMaxBytes(t *testing.T) {
	const most = 20_000
	sizes := []int{9_000, 9_000, 9_000, 50_000, 9_000, 1, 9_000, 19_000, 50_000}
	withConsumer(t, 0, jetstream.ConsumerConfig{}, func(g *rondo.Scope, js jetstream.JetStream, consumer jetstream.Consumer) error {
		for _, n := range sizes {
			if err := nats.Enqueue(g, js, "job.a", "", make([]byte, n)); err != nil {
				return err
			}
		}
		done, running, bytes := 0, 0, 0
		var two, all rondo.Event
		w := &nats.Worker{MaxBytes: most}
		return rondo.Group(g, func(g *rondo.Scope) error {
			err := w.Work(g, consumer, len(sizes), func(ctx context.Context, m jetstream.Msg) error {
				running++
				bytes += len(m.Data())
				if running == 2 {
					two.Set()
				}
				if running > 1 && bytes > most {
					t.Errorf("%d jobs run with %d bytes", running, bytes)
				}
				err := errors.Join(two.Wait(ctx), rondo.Sleep(ctx, 5*time.Millisecond))
				running--
				bytes -= len(m.Data())
				if done++; done == len(sizes) {
					all.Set()
				}
				return err
			})
			err = errors.Join(err, all.Wait(g))
			g.Cancel(nil)
			return err
		})
	})
}

// TestWorkBesideOffload: Work gets jobs while functions of the program hold all threads that
// Offload may use.
func TestWorkBesideOffload(t *testing.T) {
	runOn(t, &rondo.Runner{Threads: 1}, withStore(t), func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		js, consumer, err := stream(g, c, time.Hour)
		if err := errors.Join(err, nats.Enqueue(g, js, "job.a", "", nil)); err != nil {
			return err
		}
		held, free := make(chan bool), make(chan bool)
		offloaded := g.Go(func(ctx context.Context) error {
			return rondo.OffloadFunc(ctx, func(context.Context) error {
				close(held)
				<-free
				return nil
			})
		})
		if _, _, err := rondo.Receive(g, held); err != nil {
			return err
		}
		var done rondo.Event
		err = nats.Work(g, consumer, 1, func(context.Context, jetstream.Msg) error {
			done.Set()
			return nil
		})
		err = errors.Join(err, done.Wait(g))
		close(free)
		return errors.Join(err, offloaded.Wait(g))
	})
}
