package nats

// Jobs are messages of a JetStream that are stored until a worker has done them. The
// server stores and delivers them; what programs call is here, and worker.go runs the jobs.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/rondo-go/rondo"
)

// Enqueue publishes data to a stream, and suspends the task until the server has stored
// it. With an id, a message that is published again within the stream's window for
// duplicates, two minutes by default, is stored once: so a failed Enqueue can be called
// again. If ctx is cancelled first it returns the cause, and the message may have been
// stored. Without a deadline the client waits for five seconds. The errors are the
// client's.
//
// The stream says where a message is stored: on one node, or on a majority of its replicas. A
// file store syncs to disk every two minutes by default; see the package comment.
func Enqueue(ctx context.Context, js jetstream.JetStream, subject, id string, data []byte) error {
	if js == nil {
		panic("nats: Enqueue with a nil JetStream")
	}
	return enqueue(ctx, js, &natsgo.Msg{Subject: subject, Data: slices.Clone(data)}, id) // a client that is left still reads it
}

// A Producer has the options of Enqueue. Its fields must not change while it is used. It may be
// used on any loop, if its Middleware may.
type Producer struct {
	JetStream jetstream.JetStream

	// Middleware wraps what is stored.
	Middleware []Middleware

	// Schedules is a subject, below which EnqueueAt stores jobs until their time has come. Their
	// stream must listen to it, and have AllowMsgSchedules; a consumer must not.
	Schedules string
}

// Enqueue is the function Enqueue with the options of p.
func (p *Producer) Enqueue(ctx context.Context, subject, id string, data []byte) error {
	return p.EnqueueMsg(ctx, id, &natsgo.Msg{Subject: subject, Data: slices.Clone(data)}) // a client that is left still reads it
}

// EnqueueMsg is Enqueue of a message with headers. The message must not be changed afterwards.
func (p *Producer) EnqueueMsg(ctx context.Context, id string, m *natsgo.Msg) error {
	return p.through(ctx, m, func(ctx context.Context, m *natsgo.Msg) error { return enqueue(ctx, p.JetStream, m, id) })
}

// EnqueueAt has the server store m as a job at a time, in whole seconds and not before it, or at
// once if it has passed. Until then the job waits below p.Schedules, under its id, and EnqueueAt
// with the same id takes its place; with "" it has an id of its own. After that the id is free
// again. The time is that of the server's clock. It needs servers of version 2.12 or later, and
// a stream that allows it, and otherwise returns an error. The other errors are those of
// Enqueue. The message must not be changed afterwards.
func (p *Producer) EnqueueAt(ctx context.Context, at time.Time, id string, m *natsgo.Msg) error {
	if p.Schedules == "" {
		panic("nats: Producer.EnqueueAt without Schedules")
	}
	if id == "" {
		id = nuid.Next()
	}
	if whole := at.Truncate(time.Second); whole.Before(at) {
		at = whole.Add(time.Second)
	}
	subject := p.Schedules + "." + keyWord(id)
	return p.through(ctx, m, func(ctx context.Context, m *natsgo.Msg) error {
		if err := checkStored(p.JetStream, subject); err != nil {
			return fmt.Errorf("nats: enqueue %s at %s: %w", shown(m.Subject), at.Format(time.RFC3339), err)
		}
		waiting := &natsgo.Msg{Subject: subject, Data: m.Data, Header: m.Header}
		return rondo.OffloadFunc(ctx, func(ctx context.Context) error {
			err := schedules(p.JetStream.Conn().ConnectedServerVersion())
			if err == nil {
				_, err = p.JetStream.PublishMsg(ctx, waiting, jetstream.WithScheduleAt(at), jetstream.WithScheduleTarget(m.Subject))
			}
			if err != nil {
				return fmt.Errorf("nats: enqueue %q at %s: %w", m.Subject, at.Format(time.RFC3339), err)
			}
			return nil
		})
	})
}

// schedules returns an error if a server of this version would keep a job for ever that is to be
// stored at a time.
func schedules(version string) error {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err == nil && (major < 2 || major == 2 && minor < 12) {
		return fmt.Errorf("server %s stores nothing at a time, which needs 2.12", version)
	}
	return nil
}

// through stores a message through the Middleware of p.
func (p *Producer) through(ctx context.Context, m *natsgo.Msg, store func(ctx context.Context, m *natsgo.Msg) error) error {
	if p.JetStream == nil {
		panic("nats: a Producer with a nil JetStream")
	}
	if m == nil {
		panic("nats: a Producer with a nil message")
	}
	sent := &natsgo.Msg{Subject: m.Subject, Data: m.Data, Header: copyHeader(m.Header)} // the client adds its own
	o := &Operation{Op: OpEnqueue, Subject: m.Subject, Data: m.Data, Header: sent.Header}
	return through(ctx, p.Middleware, o, func(ctx context.Context) error {
		sent.Header = o.Header
		return store(ctx, sent)
	})
}

// enqueue has the server store a message.
func enqueue(ctx context.Context, js jetstream.JetStream, m *natsgo.Msg, id string) error {
	if id != "" {
		if m.Header == nil {
			m.Header = make(natsgo.Header)
		}
		m.Header[jetstream.MsgIDHeader] = []string{id}
	}
	if err := checkStored(js, m.Subject); err != nil {
		return fmt.Errorf("nats: enqueue %s: %w", shown(m.Subject), err)
	}
	return rondo.OffloadFunc(ctx, func(ctx context.Context) error {
		if _, err := js.PublishMsg(ctx, m); err != nil {
			return fmt.Errorf("nats: enqueue %q: %w", m.Subject, err)
		}
		return nil
	})
}

// A Worker has the options of Work. The zero Worker does what the function Work does. It may do
// the jobs of several consumers, on one loop. Its fields must not change while it works.
type Worker struct {
	// Conn is the connection that the consumers use. With it Conn.Drain drains the Worker too.
	// DeadLetters need it.
	Conn *Conn

	// Grace is how long jobs that run may go on when the scope of Work is cancelled, and then
	// they are cancelled. 0 means no time at all.
	Grace time.Duration

	// DeadLetters is a subject. What is published there must be stored, so a stream must listen
	// to it. A job that has failed for the last time goes there, and is ended by Term when it
	// is stored. If it cannot be stored, the job is delivered again, as long as MaxDeliver of
	// the consumer allows: so set MaxAttempts, which needs no MaxDeliver. See Redeliver, and the
	// constants that begin with Dead for its headers.
	DeadLetters string

	// MaxAttempts is how often a job is tried, and needs DeadLetters. It takes the place of
	// MaxDeliver of the consumer, which must be unlimited then. A delivery that ended with the
	// process of its worker is an attempt. 0 means MaxDeliver.
	MaxAttempts int

	// Returned is a bucket in which the Worker counts the deliveries of jobs that it returns
	// because it stops, so that they are no attempts of MaxAttempts. If it is nil, they count as
	// attempts. Give the bucket a TTL longer than jobs wait; all workers of a consumer need the
	// same one.
	Returned jetstream.KeyValue

	// MaxBytes limits the bytes of the jobs of one call of Work that run at once, as limit does
	// their number: data, headers and subjects. A job that is larger than that runs when no other
	// one does. 0 means that only their number is limited.
	MaxBytes int

	// Backoff returns how long a job that has failed with err waits for its next delivery. It
	// is called on the loop and must not wait. nil means the BackOff of the consumer, or else
	// half a second, and twice that each time, up to a minute. If it panics, that is logged,
	// and the pause is as with nil.
	Backoff func(m jetstream.Msg, err error) time.Duration

	// Middleware wraps the function. nil means that of Conn, if there is one.
	Middleware []Middleware

	// Meter counts what becomes of the jobs, dead and returned ones too. To count the jobs as
	// operations too, with their times, put its method Wrap into Middleware. nil means that
	// nothing is counted.
	Meter *Meter

	// The rest is the loop's.
	active   []*jobs        // the calls of Work that have not ended
	idle     rondo.WaitList // waits until there are none
	draining int            // calls of Drain that wait
}

// ErrNoRetry is wrapped by the error of a job that is not to be tried again: its letter goes to
// DeadLetters at once. Without DeadLetters the job is ended by Term, which is logged.
var ErrNoRetry = errors.New("nats: the job is not to be tried again")

// Work is Worker.Work of a Worker without options.
func Work(g *rondo.Scope, consumer jetstream.Consumer, limit int, fn func(ctx context.Context, m jetstream.Msg) error) error {
	return new(Worker).Work(g, consumer, limit, fn)
}

// Work calls fn in a task for each job that consumer delivers, at most limit at once. It asks for
// no more jobs than it can start. A job whose fn returns nil is done. A job whose fn fails is
// delivered again, here or elsewhere, up to MaxDeliver of the consumer. The first pause is half a
// second, and each further one is twice as long, up to a minute. If the consumer has a BackOff,
// its pauses are used instead, and the last one is repeated. The error is logged by slog. The
// error of a job that can never be done wraps ErrNoRetry. While fn runs, the server is told that
// it does, so AckWait of the consumer only says how soon the jobs of a dead worker are delivered
// again. Delivery is at least once: fn may run more than once for a job, also after it has
// succeeded.
//
// The tasks are g's and are named for the job's subject. Work returns at once, and goes on
// until g is cancelled or the Worker is drained. When g is cancelled it asks for no more jobs;
// those that run have w.Grace to end, and are acknowledged. Then they are cancelled, and
// delivered again at once. A job that is on its way from the server at that moment is delivered
// again after AckWait. A server that cannot be reached, or refuses to deliver, is asked again,
// which is logged. g fails with the client's error if the consumer or its stream is gone, or the
// connection is closed for good. fn has a scope of its own, as rondo.Contain gives it: the job is
// acknowledged when the tasks that fn has started with its ctx have ended too. An error or a
// panic of one of them, or a panic of fn, is a failed job; a panic is logged with its stack.
//
// The error is the cause if g is cancelled, or says why consumer and the options do not fit:
// consumer must acknowledge each job by itself; or that the Worker or its Conn is being drained.
// Work panics if limit is not positive, or the options contradict each other.
func (w *Worker) Work(g *rondo.Scope, consumer jetstream.Consumer, limit int, fn func(ctx context.Context, m jetstream.Msg) error) error {
	if limit <= 0 {
		panic("nats: Work with a limit that is not positive")
	}
	if fn == nil {
		panic("nats: Work with a nil function")
	}
	w.mustFit()
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
	if w.MaxAttempts > 0 && info.Config.MaxDeliver > 0 {
		return fmt.Errorf("nats: work: the server would end a job after %d deliveries (MaxDeliver), before the Worker counts %d attempts and writes a letter: leave MaxDeliver at -1", info.Config.MaxDeliver, w.MaxAttempts)
	}
	if c := w.Conn; c != nil {
		if err := c.check(g); err != nil {
			return err
		}
		if c.err != nil {
			return fmt.Errorf("nats: work: %w", c.err)
		}
		if c.draining {
			return fmt.Errorf("nats: work: %w", natsgo.ErrConnectionDraining)
		}
	}
	if w.draining > 0 {
		return errors.New("nats: work: the Worker is being drained")
	}
	j := newJobs(w, consumer, info, limit, fn)
	if w.DeadLetters != "" {
		var err error
		if j.letters, err = jetstream.New(w.Conn.nc); err != nil {
			return fmt.Errorf("nats: work: %w", err)
		}
	}
	j.begin()
	t := g.Go(j.work)
	t.SetName("work " + info.Stream + " " + info.Name)
	return nil
}

// mustFit panics if the options contradict each other.
func (w *Worker) mustFit() {
	switch {
	case w.DeadLetters != "" && w.Conn == nil:
		panic("nats: Work with DeadLetters and without a Conn")
	case w.MaxAttempts < 0:
		panic("nats: Work with MaxAttempts that are negative")
	case w.MaxBytes < 0:
		panic("nats: Work with MaxBytes that are negative")
	case w.MaxAttempts > 0 && w.DeadLetters == "":
		panic("nats: Work with MaxAttempts and without DeadLetters, which would lose jobs")
	case w.Returned != nil && w.MaxAttempts == 0:
		panic("nats: Work with Returned and without MaxAttempts, so nothing would read it")
	}
}

// Drain stops the calls of Work gracefully: no more jobs are asked for, and Drain suspends the
// task until the jobs that run have ended and are acknowledged, and all calls of Work are over.
// Meanwhile Work returns an error. If ctx is cancelled first, Drain cancels the jobs, so that
// they are delivered again, and returns the cause. Called by a job of w it would wait for itself:
// it panics.
func (w *Worker) Drain(ctx context.Context) error {
	mustBeOutside(ctx, w, "Worker.Drain in a job of the same Worker would wait for itself: call it in a task of the scope around Work")
	w.draining++
	defer func() { w.draining-- }()
	for _, j := range w.active {
		j.drain()
	}
	for len(w.active) > 0 {
		if err := w.idle.Park(ctx, rondo.Reason{What: "nats drain"}); err != nil {
			for _, j := range w.active {
				j.cut()
			}
			return err
		}
	}
	return rondo.Check(ctx)
}
