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

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
)

// A site is a connection with a stream of jobs, one of dead letters, and a bucket for counts.
type site struct {
	*nats.Conn
	js       jetstream.JetStream
	consumer jetstream.Consumer // of the jobs
	letters  jetstream.Consumer
	returned jetstream.KeyValue
}

// withSite runs body in a scope that has a site with n jobs, which are numbers. A job that nobody
// answers is delivered again after wait.
func withSite(t *testing.T, n int, wait time.Duration, body func(g *rondo.Scope, url string, s *site) error) {
	t.Helper()
	withSiteOn(t, new(rondo.Runner), n, wait, body)
}

// withSiteOn is withSite with a Runner of the test's own.
func withSiteOn(t *testing.T, r *rondo.Runner, n int, wait time.Duration, body func(g *rondo.Scope, url string, s *site) error) {
	t.Helper()
	runOn(t, r, withStore(t), func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		s := &site{Conn: c}
		var err error
		if s.js, s.consumer, err = stream(g, c, wait); err != nil {
			return err
		}
		err = rondo.OffloadFunc(g, func(context.Context) (err error) {
			ctx := context.Background()
			if s.returned, err = s.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "returned", TTL: time.Hour}); err != nil {
				return err
			}
			if _, err = s.js.CreateStream(ctx, jetstream.StreamConfig{Name: "DEAD", Subjects: []string{"dead"}, Retention: jetstream.WorkQueuePolicy}); err != nil {
				return err
			}
			s.letters, err = s.js.CreateConsumer(ctx, "DEAD", jetstream.ConsumerConfig{Durable: "letters", AckPolicy: jetstream.AckExplicitPolicy})
			return err
		})
		if err != nil {
			return err
		}
		for i := range n {
			if err := nats.Enqueue(g, s.js, "job.a", fmt.Sprint("id ", i), fmt.Append(nil, i)); err != nil {
				return err
			}
		}
		return body(g, url, s)
	})
}

// count waits until so many messages are stored.
func (s *site) count(ctx context.Context, stream string, want uint64) error {
	for {
		n, err := rondo.Offload(ctx, func(ctx context.Context) (uint64, error) {
			s, err := s.js.Stream(ctx, stream)
			if err != nil {
				return 0, err
			}
			return s.CachedInfo().State.Msgs, nil
		})
		if err != nil || n == want {
			return err
		}
		if err := rondo.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// waiting waits until so many jobs wait for the consumer: the server acknowledges a job before it
// counts it.
func (s *site) waiting(ctx context.Context, want uint64) error {
	for {
		info, err := rondo.Offload(ctx, s.consumer.Info)
		if err != nil || info.NumPending == want {
			return err
		}
		if err := rondo.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// stops runs a Worker until its scope is cancelled by fn.
func (s *site) stops(ctx context.Context, w *nats.Worker, fn func(ctx context.Context, m jetstream.Msg, stop func()) error) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		return w.Work(g, s.consumer, 1, func(ctx context.Context, m jetstream.Msg) error {
			return fn(ctx, m, func() { g.Cancel(nil) })
		})
	})
}

// TestGrace: a job that runs when its worker stops has the grace, and is acknowledged. No other
// one begins.
func TestGrace(t *testing.T) {
	withSite(t, 3, time.Hour, func(g *rondo.Scope, _ string, s *site) error {
		begun, ended := 0, 0
		err := s.stops(g, &nats.Worker{Grace: time.Hour}, func(ctx context.Context, _ jetstream.Msg, stop func()) error {
			begun++
			stop()
			if err := rondo.Sleep(ctx, 10*time.Millisecond); err != nil {
				return err
			}
			ended++
			return nil
		})
		if begun != 1 || ended != 1 {
			t.Errorf("%d jobs have begun and %d have ended", begun, ended)
		}
		return errors.Join(err, s.count(g, "JOBS", 2))
	})
}

// TestJobsCause: a job is cancelled with the cause of the scope of Work.
func TestJobsCause(t *testing.T) {
	withSite(t, 1, time.Hour, func(g *rondo.Scope, _ string, s *site) error {
		why := errors.New("why")
		var cause error
		err := rondo.Group(g, func(g *rondo.Scope) error {
			return nats.Work(g, s.consumer, 1, func(ctx context.Context, _ jetstream.Msg) error {
				g.Cancel(why)
				err := rondo.Sleep(ctx, time.Hour)
				cause = context.Cause(ctx)
				return err
			})
		})
		if err != why || cause != why {
			t.Errorf("the scope ended with %v, and the job with %v", err, cause)
		}
		return nil
	})
}

// TestThreadsHeld: the server learns how jobs end, and that they run, while a job holds all threads
// that Offload may use.
func TestThreadsHeld(t *testing.T) {
	withSiteOn(t, &rondo.Runner{Threads: 1}, 2, 300*time.Millisecond, func(g *rondo.Scope, url string, s *site) error {
		answers, err := s.Subscribe(g, "$JS.ACK.JOBS.>", 1000)
		if err := errors.Join(err, s.Flush(g)); err != nil {
			return err
		}
		until := func(answer string) error {
			for {
				if m, err := answers.Next(g); err != nil || string(m.Data) == answer {
					return err
				}
			}
		}
		held, free := make(chan bool), make(chan bool)
		defer close(free)
		w := &nats.Worker{Conn: s.Conn, DeadLetters: "dead", MaxAttempts: 2, Returned: s.returned}
		err = rondo.Group(g, func(g *rondo.Scope) error {
			err := w.Work(g, s.consumer, 2, func(ctx context.Context, m jetstream.Msg) error {
				if string(m.Data()) == "0" {
					return rondo.OffloadFunc(ctx, func(context.Context) error {
						close(held)
						<-free // also after the job is cancelled
						return nil
					})
				}
				_, _, err := rondo.Receive(ctx, held)
				return err
			})
			err = errors.Join(err, until("+ACK"), until("+WPI"))
			g.Cancel(nil)
			return err
		})
		if err := errors.Join(err, until("-NAK")); err != nil {
			return err
		}
		free <- true
		return s.count(g, "KV_returned", 1)
	})
}

// TestDeploys: a job that is given back each time its worker stops, with and without a grace, has
// used none of its attempts. One that fails has, and is a dead letter after the last.
func TestDeploys(t *testing.T) {
	withSite(t, 1, time.Hour, func(g *rondo.Scope, _ string, s *site) error {
		w := &nats.Worker{Conn: s.Conn, DeadLetters: "dead", MaxAttempts: 2, Returned: s.returned, Backoff: func(jetstream.Msg, error) time.Duration { return 0 }}
		failures := 0
		for deploy := range 6 {
			w.Grace = time.Duration(deploy % 2)
			err := s.stops(g, w, func(ctx context.Context, m jetstream.Msg, stop func()) error {
				if deploy == 3 && failures == 0 {
					failures++
					return errors.New("failed")
				}
				stop()
				return rondo.Sleep(ctx, time.Hour)
			})
			if err != nil {
				return err
			}
		}
		if err := s.count(g, "JOBS", 1); err != nil {
			return err
		}
		return rondo.Group(g, func(g *rondo.Scope) error {
			begun := 0
			err := w.Work(g, s.consumer, 1, func(context.Context, jetstream.Msg) error {
				begun++
				return errors.New("failed")
			})
			err = errors.Join(err, s.count(g, "DEAD", 1), s.count(g, "JOBS", 0))
			if begun != 1 {
				t.Errorf("it has failed %d times more, want 1", begun)
			}
			g.Cancel(nil)
			return err
		})
	})
}

// TestDrainInside: a Drain that would wait for the function that calls it panics, also in a task of
// that function. A Drain of something else is none of it.
func TestDrainInside(t *testing.T) {
	withSite(t, 1, time.Hour, func(g *rondo.Scope, url string, s *site) error {
		var said []any
		try := func(drain func(ctx context.Context) error) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				return rondo.Shield(ctx, func(ctx context.Context) error {
					defer func() { said = append(said, recover()) }()
					return drain(ctx)
				})
			}
		}
		other := connect(t, g, url)
		w, idle := &nats.Worker{Conn: s.Conn}, new(nats.Worker)
		in := func(ctx context.Context) error {
			err := errors.Join(try(s.Drain)(ctx), try(idle.Drain)(ctx))
			rondo.Go(ctx, try(s.Drain))
			return err
		}
		handled, worked := rondo.Event{Name: "handled"}, rondo.Event{Name: "worked"}
		err := s.Handle(g, "handle", "", 1, func(ctx context.Context, _ *natsgo.Msg) error {
			defer handled.Set()
			return errors.Join(in(ctx), try(other.Drain)(ctx))
		})
		err = errors.Join(err, nats.Serve(g, s.Conn, "serve", 1, func(ctx context.Context, _ int) (int, error) { return 0, in(ctx) }))
		err = errors.Join(err, w.Work(g, s.consumer, 1, func(ctx context.Context, _ jetstream.Msg) error {
			defer worked.Set()
			return errors.Join(in(ctx), try(w.Drain)(ctx))
		}), worked.Wait(g), s.Publish(g, "handle", nil), handled.Wait(g))
		if _, failure := nats.Call[int, int](g, s.Conn, "serve", 0); err != nil || failure != nil {
			return errors.Join(err, failure)
		}
		if err := s.Drain(g); err != nil {
			return err
		}
		of, none := make(map[string]int), 0
		for _, v := range said {
			if v == nil {
				none++
				continue
			}
			call, cure, _ := strings.Cut(fmt.Sprint(v), " would wait for itself: ")
			of[strings.Fields(call)[1]]++
			if !strings.HasPrefix(cure, "call it in a task of the scope around ") {
				t.Errorf("%v names no cure", v)
			}
		}
		if len(of) != 2 || of["Conn.Drain"] != 6 || of["Worker.Drain"] != 1 || none != 4 {
			t.Errorf("refused %v, and %d were not; want 6 of Conn, 1 of Worker, and 4", of, none)
		}
		return nil
	})
}

// TestDrainWorker: Drain of a Worker, and of its connection, waits until the job that runs is
// acknowledged, and no other one begins. If it is cancelled, it gives the job back.
func TestDrainWorker(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"Worker", "Worker, cancelled", "Conn"} {
		t.Run(way, func(t *testing.T) {
			withSite(t, 3, time.Hour, func(g *rondo.Scope, url string, s *site) error {
				c := connect(t, g, url)
				_, consumer, err := stream(g, c, time.Hour)
				if err != nil {
					return err
				}
				w := &nats.Worker{Conn: c}
				var begun, release rondo.Event
				n := 0
				err = w.Work(g, consumer, 1, func(ctx context.Context, m jetstream.Msg) error {
					n++
					begun.Set()
					return release.Wait(ctx)
				})
				if err := errors.Join(err, begun.Wait(g)); err != nil {
					return err
				}
				drain := g.Go(func(ctx context.Context) error {
					if way == "Conn" {
						return c.Drain(ctx)
					}
					return w.Drain(ctx)
				})
				for drain.Info().Waiting != "nats drain" {
					if drain.Done() {
						return fmt.Errorf("Drain did not wait for the job, and returned %v", drain.Err())
					}
					if err := rondo.Yield(g); err != nil {
						return err
					}
				}
				fn := func(context.Context, jetstream.Msg) error { return nil }
				if err := w.Work(g, consumer, 1, fn); err == nil || errors.Is(err, natsgo.ErrConnectionDraining) != (way == "Conn") {
					return fmt.Errorf("Work during Drain returned %v", err)
				}
				want := uint64(2)
				if way == "Worker, cancelled" {
					drain.Cancel(nil)
					if err := drain.Wait(g); !errors.Is(err, context.Canceled) {
						t.Errorf("Drain returned %v", err)
					}
					if err := w.Drain(g); err != nil {
						return err
					}
					want = 3
				} else {
					release.Set()
					if err := drain.Wait(g); err != nil {
						return err
					}
				}
				if n != 1 {
					t.Errorf("%d jobs have begun", n)
				}
				if err := s.count(g, "JOBS", want); err != nil {
					return err
				}
				// What is left is another worker's, at once.
				return rondo.Group(g, func(g *rondo.Scope) error {
					err := nats.Work(g, s.consumer, 3, func(context.Context, jetstream.Msg) error { return nil })
					err = errors.Join(err, s.count(g, "JOBS", 0))
					g.Cancel(nil)
					return err
				})
			})
		})
	}
}

// broken panics, and is the first line of a stack.
func broken() error { panic("no such\nuser") }

// TestDeadLetters: a job that has failed for the last time is a letter that says why. Given back,
// it is a job again, which has its attempts, its own headers and another id.
func TestDeadLetters(t *testing.T) {
	withSite(t, 0, time.Hour, func(g *rondo.Scope, _ string, s *site) error {
		job := &natsgo.Msg{Subject: "job.b", Data: []byte("data"), Header: natsgo.Header{"Own": {"1", "2"}}}
		err := rondo.OffloadFunc(g, func(ctx context.Context) error {
			_, err := s.js.PublishMsg(ctx, job, jetstream.WithMsgID("id"))
			return err
		})
		if err != nil {
			return err
		}
		now := func(jetstream.Msg, error) time.Duration { return 0 }
		w := &nats.Worker{Conn: s.Conn, DeadLetters: "dead", MaxAttempts: 3, Backoff: now}
		runs := 0
		var header natsgo.Header
		err = w.Work(g, s.consumer, 1, func(_ context.Context, m jetstream.Msg) error {
			if runs++; runs <= 3 {
				return broken()
			}
			header = m.Headers()
			return nil
		})
		if err := errors.Join(err, s.count(g, "DEAD", 1), s.count(g, "JOBS", 0)); err != nil {
			return err
		}
		var letter natsgo.Header
		err = nats.Work(g, s.letters, 1, func(ctx context.Context, m jetstream.Msg) error {
			letter = m.Headers()
			return nats.Redeliver(ctx, s.js, m)
		})
		if err := errors.Join(err, s.count(g, "DEAD", 0), s.count(g, "JOBS", 0)); err != nil {
			return err
		}
		if runs != 4 || fmt.Sprint(header) != fmt.Sprint(natsgo.Header{"Own": {"1", "2"}, jetstream.MsgIDHeader: header[jetstream.MsgIDHeader]}) || header.Get(jetstream.MsgIDHeader) == "id" {
			t.Errorf("%d runs, and the last one had %v", runs, header)
		}
		for key, want := range map[string]string{
			nats.DeadReason: "panic in job.b: no such user", nats.DeadStack: "broken at ", nats.DeadSubject: "job.b",
			nats.DeadID: "id", nats.DeadStream: "JOBS", nats.DeadConsumer: "workers", nats.DeadSequence: "1",
			nats.DeadDeliveries: "3", nats.DeadStored: "T", nats.DeadTime: "Z", "Own": "1",
		} {
			if got := letter.Get(key); !strings.Contains(got, want) {
				t.Errorf("%s is %q, want %q in it", key, got, want)
			}
		}
		if !strings.Contains(letter.Get(nats.DeadStack), "worker_test.go:") {
			t.Errorf("the stack is %q", letter.Get(nats.DeadStack))
		}
		return nil
	})
}

// A slowBucket answers when it may, whatever becomes of the one who asks.
type slowBucket struct {
	jetstream.KeyValue
	asked, may chan bool
}

func (b *slowBucket) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	b.asked <- true
	<-b.may
	return b.KeyValue.Get(ctx, key)
}

// TestLetterOfStopped: a job that has failed is a letter with its own error, although the worker
// stops while it counts the attempts.
func TestLetterOfStopped(t *testing.T) {
	withSite(t, 1, time.Hour, func(g *rondo.Scope, _ string, s *site) error {
		b := &slowBucket{s.returned, make(chan bool), make(chan bool)}
		w := &nats.Worker{Conn: s.Conn, DeadLetters: "dead", MaxAttempts: 1, Returned: b}
		err := rondo.Group(g, func(g *rondo.Scope) error {
			err := w.Work(g, s.consumer, 1, func(context.Context, jetstream.Msg) error { return errors.New("true reason") })
			if err != nil {
				return err
			}
			_, _, err = rondo.Receive(g, b.asked)
			g.Cancel(nil)
			close(b.may)
			return err
		})
		if err := errors.Join(err, s.count(g, "DEAD", 1), s.count(g, "JOBS", 0)); err != nil {
			return err
		}
		m, err := rondo.Offload(g, func(context.Context) (jetstream.Msg, error) { return s.letters.Next() })
		if err != nil {
			return err
		}
		if reason := m.Headers().Get(nats.DeadReason); reason != "true reason" {
			t.Errorf("the reason is %q", reason)
		}
		return nil
	})
}

// TestRedeliverNil: mistakes of the program are named before anything is sent.
func TestRedeliverNil(t *testing.T) {
	js, err := jetstream.New(new(natsgo.Conn))
	if err != nil {
		t.Fatal(err)
	}
	for _, js := range []jetstream.JetStream{nil, js} { // and no letter
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.HasPrefix(text, "nats: Redeliver with a nil") {
					t.Errorf("Redeliver panicked with %q", text)
				}
			}()
			_ = nats.Redeliver(context.Background(), js, nil)
		}()
	}
}

// TestLetterMustBeStored: a job whose letter cannot be stored is not lost.
func TestLetterMustBeStored(t *testing.T) {
	var log bytes.Buffer // Work logs in tasks, and the test reads it in one
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	withSite(t, 1, time.Hour, func(g *rondo.Scope, _ string, s *site) error {
		runs := 0
		w := &nats.Worker{Conn: s.Conn, DeadLetters: "nowhere", MaxAttempts: 1, Backoff: func(jetstream.Msg, error) time.Duration { return time.Millisecond }}
		err := w.Work(g, s.consumer, 1, func(context.Context, jetstream.Msg) error {
			runs++
			return errors.New("failed")
		})
		if err != nil {
			return err
		}
		for strings.Count(log.String(), "letter=") < 2 {
			if err := rondo.Sleep(g, time.Millisecond); err != nil {
				return err
			}
		}
		if stored, err := left(g, s.js); stored != 1 || err != nil {
			t.Errorf("%d jobs are stored, %v", stored, err)
		}
		err = rondo.OffloadFunc(g, func(ctx context.Context) error {
			_, err := s.js.CreateStream(ctx, jetstream.StreamConfig{Name: "FOUND", Subjects: []string{"nowhere"}})
			return err
		})
		if err := errors.Join(err, s.count(g, "FOUND", 1), s.count(g, "JOBS", 0)); err != nil {
			return err
		}
		if runs != 1 {
			t.Errorf("it ran %d times", runs)
		}
		return nil
	})
}

// TestKilledAttempts: a delivery that ended with its worker is an attempt, so a job that kills its
// workers is a dead letter.
func TestKilledAttempts(t *testing.T) {
	withSite(t, 1, 200*time.Millisecond, func(g *rondo.Scope, url string, s *site) error {
		runs := 0
		for range 2 {
			err := rondo.Group(g, func(g *rondo.Scope) error {
				c := connect(t, g, url)
				_, consumer, err := stream(g, c, 200*time.Millisecond)
				if err != nil {
					return err
				}
				w := &nats.Worker{Conn: c, DeadLetters: "dead", MaxAttempts: 2}
				return w.Work(g, consumer, 1, func(ctx context.Context, _ jetstream.Msg) error {
					runs++
					return rondo.OffloadFunc(ctx, func(context.Context) error { c.NC().Close(); return nil })
				})
			})
			if !errors.Is(err, natsgo.ErrConnectionClosed) {
				return err
			}
		}
		w := &nats.Worker{Conn: s.Conn, DeadLetters: "dead", MaxAttempts: 2, Returned: s.returned}
		err := w.Work(g, s.consumer, 1, func(context.Context, jetstream.Msg) error { runs++; return nil })
		if err := errors.Join(err, s.count(g, "DEAD", 1), s.count(g, "JOBS", 0)); err != nil {
			return err
		}
		if runs != 2 {
			t.Errorf("it ran %d times", runs)
		}
		return nil
	})
}

// TestNoRetry: a job that says so is a letter at its first failure; without DeadLetters it ends.
func TestNoRetry(t *testing.T) {
	for _, letters := range []uint64{0, 1} {
		withSite(t, 1, time.Hour, func(g *rondo.Scope, _ string, s *site) error {
			w := new(nats.Worker)
			if letters > 0 {
				w.Conn, w.DeadLetters = s.Conn, "dead"
			}
			runs := 0
			err := w.Work(g, s.consumer, 1, func(context.Context, jetstream.Msg) error {
				runs++
				return fmt.Errorf("no such user: %w", nats.ErrNoRetry)
			})
			if err := errors.Join(err, s.count(g, "JOBS", 0), s.count(g, "DEAD", letters)); err != nil {
				return err
			}
			if runs != 1 {
				t.Errorf("it ran %d times", runs)
			}
			return nil
		})
	}
}

// TestWorkerOptions: options that would lose jobs are refused.
func TestWorkerOptions(t *testing.T) {
	config := jetstream.ConsumerConfig{MaxDeliver: 5}
	withConsumer(t, 0, config, func(g *rondo.Scope, _ jetstream.JetStream, consumer jetstream.Consumer) error {
		fn := func(context.Context, jetstream.Msg) error { return nil }
		w := &nats.Worker{Conn: new(nats.Conn), DeadLetters: "dead", MaxAttempts: 5}
		if err := w.Work(g, consumer, 1, fn); err == nil || !strings.Contains(err.Error(), "MaxDeliver") {
			t.Errorf("with MaxDeliver Work returned %v", err)
		}
		for _, w := range []*nats.Worker{
			{DeadLetters: "dead"}, {MaxAttempts: 1}, {MaxAttempts: -1}, {MaxBytes: -1},
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%+v is taken", w)
					}
				}()
				_ = w.Work(g, consumer, 1, fn)
			}()
		}
		return nil
	})
}
