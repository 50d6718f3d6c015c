package nats

// Jobs are messages of a JetStream that are stored until a worker has done them. The
// server stores and delivers them; the worker's part is here.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats/internal/report"
)

// Enqueue publishes data to a stream, and suspends the task until the server has stored
// it. With an id, a message that is published again within the stream's window for
// duplicates, two minutes by default, is stored once: so a failed Enqueue can be called
// again. If ctx is cancelled first it returns the cause, and the message may have been
// stored. Without a deadline the client waits for five seconds. The errors are the
// client's.
//
// Stored means as the stream says: on one node, or on a majority of its replicas. A file
// store syncs to disk every two minutes by default; see the package comment.
func Enqueue(ctx context.Context, js jetstream.JetStream, subject, id string, data []byte) error {
	if js == nil {
		panic("nats: Enqueue with a nil JetStream")
	}
	m := &natsgo.Msg{Subject: subject, Data: data}
	if id != "" {
		m.Header = natsgo.Header{jetstream.MsgIDHeader: {id}}
	}
	return rondo.OffloadFunc(ctx, func(ctx context.Context) error {
		if _, err := js.PublishMsg(ctx, m); err != nil {
			return fmt.Errorf("nats: enqueue %q: %w", subject, err)
		}
		return nil
	})
}

const (
	fetchWait  = 5 * time.Second        // how long the server keeps a request for jobs
	fetchMost  = 1024                   // how many jobs are asked for at once
	retryFirst = 500 * time.Millisecond // before a job that failed is delivered again, doubled each time
	retryMost  = time.Minute
	ackWait    = 30 * time.Second // of a consumer that has none, the server's default
	leaveWait  = 2 * time.Second  // for telling the server how a job has ended; the longest pause after an error
)

// Work calls fn in a task for each job that consumer delivers, at most limit at once. It
// asks for no more jobs than it can start. A job whose fn returns nil is done. One whose fn
// fails is delivered again, here or elsewhere, after half a second, and twice that each
// time, up to a minute, or after the times of the consumer's BackOff, the last of which is
// repeated; until MaxDeliver of the consumer. The error is logged by slog. An
// fn that knows that its job can never be done calls m.Term, by rondo.Offload. While fn
// runs, the server is told that it does, so AckWait of the consumer only says how soon the
// jobs of a dead worker are delivered again. Delivery is at least once: fn may run more
// than once for a job, also after it has succeeded.
//
// The tasks are g's and are named for the job's subject. Work returns at once, and goes on
// until g is cancelled. The jobs that run are cancelled then, and delivered again at once.
// A server that cannot be reached, or refuses to deliver, is asked again, which is logged.
// g fails with the client's error if the consumer or its stream is gone, or the connection
// is closed for good. fn has a scope of its own, as rondo.Contain gives it: the job is
// acknowledged when the tasks that fn has started with its ctx have ended too. An error or a
// panic of one of them, or a panic of fn, is a failed job; a panic is logged with its stack.
//
// The error is the cause if g is cancelled, or says that consumer does not acknowledge each
// job by itself. It panics if limit is not positive.
func Work(g *rondo.Scope, consumer jetstream.Consumer, limit int, fn func(ctx context.Context, m jetstream.Msg) error) error {
	if limit <= 0 {
		panic("nats: Work with a limit that is not positive")
	}
	if fn == nil {
		panic("nats: Work with a nil function")
	}
	if err := rondo.Check(g); err != nil {
		return err
	}
	if consumer == nil {
		panic("nats: Work with a nil Consumer")
	}
	info := consumer.CachedInfo()
	if info == nil || info.Config.AckPolicy != jetstream.AckExplicitPolicy {
		return errors.New("nats: work: the consumer does not acknowledge each job by itself, so jobs would be lost: make one with jetstream.AckExplicitPolicy")
	}
	w := &jobs{consumer: consumer, limit: limit, fn: fn, room: rondo.NewSemaphore(limit), running: make(map[jetstream.Msg]struct{})}
	w.every = max(patience(info.Config)/3, 10*time.Millisecond)
	w.batch, w.wait, w.deliveries, w.backOff = min(limit, fetchMost), fetchWait, info.Config.MaxDeliver, info.Config.BackOff
	if n := info.Config.MaxRequestBatch; n > 0 {
		w.batch = min(w.batch, n)
	}
	if d := info.Config.MaxRequestExpires; d > 0 {
		w.wait = min(w.wait, d)
	}
	t := g.Go(w.work)
	t.SetName("work " + info.Stream + " " + info.Name)
	return nil
}

// patience returns how soon the server may deliver a job again. In place of AckWait it may
// have one time for each delivery.
func patience(c jetstream.ConsumerConfig) time.Duration {
	d := c.AckWait
	if len(c.BackOff) > 0 {
		d = slices.Min(c.BackOff)
	}
	if d <= 0 {
		return ackWait
	}
	return d
}

// jobs is one call of Work.
type jobs struct {
	consumer   jetstream.Consumer
	limit      int
	fn         func(ctx context.Context, m jetstream.Msg) error
	room       *rondo.Semaphore
	batch      int           // how many jobs it asks for at once
	wait       time.Duration // how long the server keeps a request for them
	deliveries int           // how often a job is delivered; not positive: any number of times
	backOff    []time.Duration
	every      time.Duration // between two messages about jobs that run
	running    map[jetstream.Msg]struct{}
}

// work asks for jobs, as many as there is room for.
func (w *jobs) work(ctx context.Context) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(w.progress).SetName("work progress")
		pause, said := retryFirst, ""
		for {
			if err := w.room.Acquire(g); err != nil {
				return err
			}
			n := 1
			for n < w.batch && w.room.TryAcquire() {
				n++
			}
			started, err := w.fetch(g, n)
			w.room.ReleaseN(n - started)
			switch {
			case rondo.Check(g) != nil:
				return rondo.Check(g)
			case gone(err):
				return fmt.Errorf("nats: work: %w", err)
			case err == nil:
				pause, said = retryFirst, ""
				continue
			case err.Error() != said: // each once
				said = err.Error()
				report.Log(g, slog.LevelWarn, "nats: the server delivers no jobs, and is asked again", "consumer", w.consumer.CachedInfo().Name, "err", err)
			}
			if err := rondo.Sleep(g, pause); err != nil {
				return err
			}
			pause = min(2*pause, leaveWait)
		}
	})
}

// gone reports whether no more jobs will come, after this error of the client.
func gone(err error) bool {
	for _, e := range []error{
		jetstream.ErrConsumerDeleted, jetstream.ErrConsumerNotFound, jetstream.ErrStreamNotFound,
		natsgo.ErrConnectionClosed, jetstream.ErrBadRequest, natsgo.ErrBadSubscription,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// fetch asks for n jobs, and starts those that come. It returns how many came, and when
// all have, or the server has no more for a while.
func (w *jobs) fetch(g *rondo.Scope, n int) (started int, err error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(g), w.wait)
	defer cancel()
	batch, err := rondo.Offload(g, func(context.Context) (jetstream.MessageBatch, error) {
		return w.consumer.Fetch(n, jetstream.FetchContext(asking))
	})
	if err != nil {
		return 0, err
	}
	for {
		m, ok, err := rondo.Receive(g, batch.Messages())
		if err != nil {
			cancel()
			w.giveBack(g, batch)
			return started, err
		}
		if !ok {
			break
		}
		started++
		g.Go(func(ctx context.Context) error { return w.run(ctx, m) }).SetName(m.Subject())
	}
	switch err := batch.Error(); {
	case err == nil, errors.Is(err, natsgo.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return started, nil
	case errors.Is(err, natsgo.ErrNoResponders):
		return started, cmp.Or(w.missing(g), err)
	default:
		return started, err
	}
}

// missing asks for the consumer when nothing has answered: it may be gone, or there is no
// server for a while. It returns an error of the server only.
func (w *jobs) missing(ctx context.Context) error {
	err := rondo.Timeout(ctx, leaveWait, func(ctx context.Context) error {
		return rondo.OffloadFunc(ctx, func(ctx context.Context) error {
			_, err := w.consumer.Info(ctx)
			return err
		})
	})
	if gone(err) {
		return err
	}
	return nil
}

// giveBack has the server deliver again what came too late.
func (w *jobs) giveBack(ctx context.Context, batch jetstream.MessageBatch) {
	_ = w.leave(ctx, func() error {
		for m := range batch.Messages() {
			if err := m.Nak(); err != nil {
				return err
			}
		}
		return nil
	})
}

// leave calls a function of the client on a goroutine although ctx may be cancelled. If
// it fails, or takes long, the server finds out by itself, after AckWait. So its error is
// of interest only to people.
func (w *jobs) leave(ctx context.Context, tell func() error) error {
	return rondo.Shield(ctx, func(ctx context.Context) error {
		return rondo.Timeout(ctx, leaveWait, func(ctx context.Context) error {
			return rondo.OffloadFunc(ctx, func(context.Context) error { return tell() })
		})
	})
}

// run does one job, and tells the server how it went.
func (w *jobs) run(ctx context.Context, m jetstream.Msg) error {
	w.running[m] = struct{}{}
	returned := false
	defer func() {
		delete(w.running, m)
		w.room.Release()
		if !returned {
			_ = w.leave(ctx, func() error { return m.NakWithDelay(w.delay(m)) })
		}
	}()
	err := rondo.Contain(ctx, func(ctx context.Context) error { return w.fn(ctx, m) })
	returned = true
	switch {
	case err == nil:
		_ = w.leave(ctx, m.Ack)
	case rondo.Check(ctx) != nil:
		_ = w.leave(ctx, m.Nak)
	default:
		again := w.leave(ctx, func() error { return m.NakWithDelay(w.delay(m)) })
		w.failed(ctx, m, err, again)
	}
	return nil
}

// failed logs that a job has failed, and what becomes of it. again is the error of asking
// the server to deliver it again.
func (w *jobs) failed(ctx context.Context, m jetstream.Msg, err, again error) {
	text := "nats: a job failed, and is delivered again"
	args := []any{"subject", m.Subject(), "err", err}
	if _, panicked := err.(*rondo.PanicError); panicked {
		args[len(args)-1] = report.Text("%+v", err) // with the stack
	}
	switch meta, e := m.Metadata(); {
	case errors.Is(again, jetstream.ErrMsgAlreadyAckd):
		text = "nats: a job failed after its function had answered the message itself"
	case e == nil && w.deliveries > 0 && meta.NumDelivered >= uint64(w.deliveries):
		text = "nats: a job failed for the last time that its consumer allows"
	default:
		args = append(args, "after", w.delay(m))
	}
	report.Log(ctx, slog.LevelWarn, text, args...)
}

// delay returns how long a job that has failed waits for its next delivery.
func (w *jobs) delay(m jetstream.Msg) time.Duration {
	delivered := uint64(1)
	if meta, err := m.Metadata(); err == nil {
		delivered = max(meta.NumDelivered, 1)
	}
	return pauseAfter(delivered, w.backOff)
}

// pauseAfter returns the pause after so many deliveries: as the list says, whose last element
// is repeated, or longer each time.
func pauseAfter(delivered uint64, list []time.Duration) time.Duration {
	if n := uint64(len(list)); n > 0 {
		return list[min(delivered, n)-1]
	}
	d := retryFirst
	for n := uint64(1); n < delivered && d < retryMost; n++ {
		d *= 2
	}
	return min(d, retryMost)
}

// progress tells the server of the jobs that run, so that it does not deliver them again.
func (w *jobs) progress(ctx context.Context) error {
	for range rondo.Every(ctx, w.every) {
		running := make([]jetstream.Msg, 0, len(w.running))
		for m := range w.running {
			running = append(running, m)
		}
		if len(running) == 0 {
			continue
		}
		err := rondo.OffloadFunc(ctx, func(context.Context) error {
			for _, m := range running {
				_ = m.InProgress() // it fails only if the job is done meanwhile, or the connection is closed
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return rondo.Check(ctx)
}
