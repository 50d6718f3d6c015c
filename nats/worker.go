package nats

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats/internal/answer"
	"github.com/rondo-go/rondo/nats/internal/report"
)

const (
	fetchWait  = 5 * time.Second        // how long the server keeps a request for jobs
	fetchMost  = 1024                   // how many jobs are asked for at once
	retryFirst = 500 * time.Millisecond // before a job that failed is delivered again, doubled each time
	retryMost  = time.Minute
	ackWait    = 30 * time.Second // of a consumer that has none, the server's default
	pauseMost  = 2 * time.Second  // before the server is asked again after an error; for asking after the consumer
)

// jobs is one call of Work.
type jobs struct {
	*Worker
	consumer   jetstream.Consumer
	name       string // of its stream, and its own
	limit      int
	fn         func(ctx context.Context, m jetstream.Msg) error
	room       *rondo.Semaphore
	batch      int           // how many jobs it asks for at once
	wait       time.Duration // how long the server keeps a request for them
	deliveries int           // how often the server delivers a job; not positive: any number of times
	backOff    []time.Duration
	every      time.Duration // between two messages about jobs that run
	letters    jetstream.JetStream
	middleware []Middleware
	running    map[jetstream.Msg]struct{}

	asking  *rondo.Scope   // asks for jobs; nil before and after
	doing   *rondo.Scope   // owns the tasks of the jobs; nil before
	started int            // jobs whose tasks have not ended
	done    rondo.WaitList // waits until there are none
	bytes   int            // of the jobs whose tasks have not ended
	lighter rondo.WaitList // waits until there are fewer
	none    bool           // the last request has brought no job
	drained bool           // no more jobs are asked for
	severed bool           // the jobs are cancelled
}

func newJobs(w *Worker, consumer jetstream.Consumer, info *jetstream.ConsumerInfo, limit int, fn func(ctx context.Context, m jetstream.Msg) error) *jobs {
	config := info.Config
	j := &jobs{
		Worker: w, consumer: consumer, name: info.Stream + " " + info.Name, limit: limit, fn: fn, room: rondo.NewSemaphore(limit),
		running: make(map[jetstream.Msg]struct{}),
		every:   max(patience(config)/3, 10*time.Millisecond),
		batch:   min(limit, fetchMost), wait: fetchWait, deliveries: config.MaxDeliver, backOff: config.BackOff,
		middleware: w.Middleware,
	}
	if w.Middleware == nil && w.Conn != nil {
		j.middleware = w.Conn.Middleware
	}
	if n := config.MaxRequestBatch; n > 0 {
		j.batch = min(j.batch, n)
	}
	if d := config.MaxRequestExpires; d > 0 {
		j.wait = min(j.wait, d)
	}
	return j
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

// begin makes j known to those who drain.
func (j *jobs) begin() {
	j.active = append(j.active, j)
	if c := j.Conn; c != nil {
		c.handlers++
		c.workers = append(c.workers, j)
	}
}

// end is begin's opposite.
func (j *jobs) end() {
	same := func(o *jobs) bool { return o == j }
	if j.active = slices.DeleteFunc(j.active, same); len(j.active) == 0 {
		j.idle.WakeAll()
	}
	if c := j.Conn; c != nil {
		c.workers = slices.DeleteFunc(c.workers, same)
		c.handlerEnded()
	}
}

// drain asks for no more jobs.
func (j *jobs) drain() {
	j.drained = true
	if j.asking != nil {
		j.asking.Cancel(nil)
	}
}

// cut cancels the jobs.
func (j *jobs) cut() {
	j.severed = true
	if j.doing != nil {
		j.doing.Cancel(nil)
	}
}

// work does jobs until ctx is cancelled or j is drained, and then waits for those that run. They
// are in a scope that ctx does not cancel.
func (j *jobs) work(ctx context.Context) error {
	defer j.end()
	err := rondo.Shield(ctx, func(shielded context.Context) error {
		shielded = within(shielded, j.Worker)
		if j.Conn != nil {
			shielded = within(shielded, j.Conn)
		}
		return rondo.Group(shielded, func(g *rondo.Scope) error {
			j.doing = g
			if j.severed {
				return nil
			}
			g.Go(j.progress).SetName("work progress")
			err := rondo.Group(ctx, func(asking *rondo.Scope) error {
				if j.asking = asking; j.drained {
					return nil
				}
				return j.ask(asking, g)
			})
			j.asking = nil
			if stopped := rondo.Check(ctx); stopped == nil && err != nil {
				return err
			} else if stopped == nil { // drained
				_ = j.wind(ctx)
			}
			if rondo.Check(ctx) != nil && j.Grace > 0 {
				_ = rondo.Timeout(g, j.Grace, j.wind)
			}
			g.Cancel(rondo.Check(ctx)) // nil if drained
			return nil
		})
	})
	return cmp.Or(err, rondo.Check(ctx))
}

// wind waits until no job runs.
func (j *jobs) wind(ctx context.Context) error {
	for j.started > 0 {
		if err := j.done.Park(ctx, rondo.Reason{What: "nats jobs"}); err != nil {
			return err
		}
	}
	return nil
}

// ask asks for jobs, as many as there is room for, which g owns.
func (j *jobs) ask(ctx context.Context, g *rondo.Scope) error {
	pause, said := retryFirst, ""
	for {
		n, most, err := j.reserve(ctx)
		if err != nil {
			return err
		}
		started, err := j.fetch(ctx, g, n, most)
		j.room.ReleaseN(n - started)
		j.none = started == 0
		switch {
		case rondo.Check(ctx) != nil:
			return rondo.Check(ctx)
		case gone(err):
			return fmt.Errorf("nats: work: %w", err)
		case err == nil:
			pause, said = retryFirst, ""
			continue
		}
		if text := report.Text("%v", err); text != said { // each once
			said = text
			report.Log(ctx, slog.LevelWarn, "nats: the server delivers no jobs, and is asked again", "consumer", j.consumer.CachedInfo().Name, "err", err)
		}
		if err := rondo.Sleep(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, pauseMost)
	}
}

// reserve waits for room, and returns how many jobs to ask for, and how many bytes they may have
// together; 0: any number.
func (j *jobs) reserve(ctx context.Context) (n, most int, err error) {
	if err := j.room.Acquire(ctx); err != nil {
		return 0, 0, err
	}
	if n = 1; j.MaxBytes > 0 {
		if most, err = j.reserveBytes(ctx); err != nil {
			j.room.Release()
			return 0, 0, err
		}
		if most == 0 {
			return n, 0, nil
		}
	}
	for n < j.batch && j.room.TryAcquire() {
		n++
	}
	return n, most, nil
}

// reserveBytes waits until the jobs that run have less than MaxBytes, and returns how much is left;
// 0 if the next job may have any size. If the last request has brought no job, the next one may be
// too large for what is left. So another job has to end first; but there may just have been none,
// so the server is asked from time to time. When no job runs, the next one is taken as it is.
func (j *jobs) reserveBytes(ctx context.Context) (int, error) {
	lighter := func(ctx context.Context) error { return j.lighter.Park(ctx, rondo.Reason{What: "nats jobs"}) }
	if j.none && j.bytes > 0 {
		if err := rondo.Timeout(ctx, retryFirst, lighter); err != nil && !rondo.TimedOut(ctx, err) {
			return 0, err
		}
	} else if j.none {
		return 0, nil
	}
	for j.bytes >= j.MaxBytes {
		if err := lighter(ctx); err != nil {
			return 0, err
		}
	}
	return j.MaxBytes - j.bytes, nil
}

// size returns how many bytes of MaxBytes a job takes.
func (j *jobs) size(m jetstream.Msg) int {
	if j.MaxBytes == 0 {
		return 0
	}
	return len(m.Subject()) + headerSize(m.Headers()) + len(m.Data())
}

// gone reports whether no more jobs will come, after this error of the client.
func gone(err error) bool {
	for _, e := range []error{
		jetstream.ErrConsumerDeleted, jetstream.ErrConsumerNotFound, jetstream.ErrStreamNotFound,
		natsgo.ErrConnectionClosed, jetstream.ErrBadRequest, natsgo.ErrBadSubscription,
	} {
		if says(err, e) {
			return true
		}
	}
	return false
}

// fetch asks for n jobs with at most so many bytes, and starts those that come. It returns how
// many came, and when all have, or the server has no more for a while.
func (j *jobs) fetch(ctx context.Context, g *rondo.Scope, n, most int) (started int, err error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), j.wait)
	defer cancel()
	batch, err := j.request(ctx, asking, cancel, n, most)
	if err != nil {
		return 0, err
	}
	for {
		m, ok, err := rondo.Receive(ctx, batch.Messages())
		if err != nil {
			cancel()
			j.giveBack(ctx, batch.Messages())
			return started, err
		}
		if !ok {
			break
		}
		started++
		j.started++
		size := j.size(m) // the program may change the header
		j.bytes += size
		g.Go(func(ctx context.Context) error { return j.run(ctx, m, size) }).SetName(m.Subject())
	}
	switch err := batch.Error(); {
	case err == nil, says(err, natsgo.ErrTimeout), says(err, context.DeadlineExceeded):
		return started, nil
	case says(err, natsgo.ErrNoResponders):
		return started, cmp.Or(j.missing(ctx), err)
	default:
		return started, err
	}
}

// request sends the request for n jobs that have at most so many bytes, 0: any number. If ctx is
// cancelled while it is being sent, what comes is given back.
func (j *jobs) request(ctx, asking context.Context, cancel func(), n, most int) (jetstream.MessageBatch, error) {
	options := []jetstream.FetchOpt{jetstream.FetchContext(asking)}
	if most > 0 {
		options = append(options, jetstream.FetchMaxBytes(most))
	}
	var mu sync.Mutex
	var sent jetstream.MessageBatch
	left := false
	err := beside(ctx, func(ctx context.Context) error {
		batch, err := j.consumer.Fetch(n, options...)
		mu.Lock()
		gone := left
		sent = batch
		mu.Unlock()
		if gone && err == nil {
			j.releaseAll(context.WithoutCancel(ctx), batch.Messages())
		}
		return err
	})
	mu.Lock()
	left = err != nil
	come := sent
	mu.Unlock()
	if err == nil {
		return come, nil
	}
	cancel()
	if come != nil {
		j.giveBack(ctx, come.Messages())
	}
	return nil, err
}

// missing asks for the consumer when nothing has answered: it may be gone, or there is no
// server for a while. It returns an error of the server only.
func (j *jobs) missing(ctx context.Context) error {
	err := rondo.Timeout(ctx, pauseMost, func(ctx context.Context) error {
		return beside(ctx, func(ctx context.Context) error {
			_, err := j.consumer.Info(ctx)
			return err
		})
	})
	if gone(err) {
		return err
	}
	return nil
}

// leave calls a function of the client on a goroutine although ctx may be cancelled. If it fails,
// the server delivers the job again after AckWait. If it takes long, nobody waits for its end.
func (j *jobs) leave(ctx context.Context, tell func(ctx context.Context) error) error {
	return rondo.Shield(ctx, func(ctx context.Context) error {
		return rondo.Timeout(ctx, answer.Wait, func(ctx context.Context) error { return beside(ctx, tell) })
	})
}

// beside calls tell on a goroutine and waits for its end, or until ctx is cancelled; tell runs on
// then. It is not Offload: the functions that jobs offload may take all of Runner.Threads, and
// would hold up what tells the server of these jobs.
func beside(ctx context.Context, tell func(ctx context.Context) error) error {
	result := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil { // the Returned of a Worker is the program's
				result <- fmt.Errorf("panic: %s\n%s", report.Text("%v", v), debug.Stack())
			}
		}()
		result <- tell(ctx)
	}()
	err, _, cancelled := rondo.Receive(ctx, result)
	return cmp.Or(cancelled, err)
}

// giveBack has the server deliver messages again that no task has begun.
func (j *jobs) giveBack(ctx context.Context, messages <-chan jetstream.Msg) {
	_ = j.leave(ctx, func(ctx context.Context) error {
		j.releaseAll(ctx, messages)
		return nil
	})
}

// releaseAll is giveBack on a goroutine.
func (j *jobs) releaseAll(ctx context.Context, messages <-chan jetstream.Msg) {
	for m := range messages {
		_ = j.release(ctx, m) // it is delivered again in any case
	}
}

// run does one job, and tells the server how it went.
func (j *jobs) run(ctx context.Context, m jetstream.Msg, size int) error {
	ctx = context.WithValue(ctx, jobKey{}, m)
	j.running[m] = struct{}{}
	returned := false
	defer func() {
		delete(j.running, m)
		j.room.Release()
		if !returned {
			j.Meter.count(j.name, j.again(ctx, m, j.pause(m)))
		}
		j.bytes -= size
		j.lighter.Wake()
		if j.started--; j.started == 0 {
			j.done.WakeAll()
		}
	}()
	if j.outlived(ctx, m) {
		returned = true
		return nil
	}
	err := rondo.Contain(ctx, func(ctx context.Context) error { return j.call(ctx, m) })
	returned = true
	switch {
	case err == nil:
		err := j.leave(ctx, func(context.Context) error { return m.Ack() })
		if err != nil && !says(err, jetstream.ErrMsgAlreadyAckd) { // fn may have answered itself
			report.Log(ctx, slog.LevelWarn, "nats: a job is done, but the server was not told, and may deliver it again", "subject", m.Subject(), "err", err)
		}
		j.Meter.count(j.name, fateDone)
	case rondo.Check(ctx) != nil:
		if err := j.leave(ctx, func(ctx context.Context) error { return j.release(ctx, m) }); err != nil {
			report.Log(ctx, slog.LevelWarn, "nats: the delivery of a job that was given back counts", "subject", m.Subject(), "err", err)
		}
	default:
		j.failed(ctx, m, err)
	}
	return nil
}

// call calls the function for a job.
func (j *jobs) call(ctx context.Context, m jetstream.Msg) error {
	if len(j.middleware) == 0 {
		return j.fn(ctx, m)
	}
	header := m.Headers()
	if header == nil {
		header = make(natsgo.Header)
	}
	o := &Operation{Op: OpWork, Subject: m.Subject(), Data: m.Data(), Header: header, Job: m}
	return through(ctx, j.middleware, o, func(ctx context.Context) error { return j.fn(ctx, m) })
}

// failed has a job delivered again that has failed, or buries it, and logs what becomes of it.
func (j *jobs) failed(ctx context.Context, m jetstream.Msg, err error) {
	args := []any{"subject", m.Subject(), "err", err}
	if _, panicked := err.(*rondo.PanicError); panicked {
		args[len(args)-1] = report.Text("%+v", err) // with the stack
	}
	text, more := j.bury(ctx, m, err)
	fate := fateDead
	if text == "" {
		pause := j.delay(ctx, m, err)
		switch fate = j.again(ctx, m, pause); fate {
		case fateDone:
			text = "nats: a job failed after its function had answered the message itself"
		case fateDead:
			text = "nats: a job failed for the last time that its consumer allows"
		default:
			text, args = "nats: a job failed, and is delivered again", append(args, "after", pause)
		}
	}
	j.Meter.count(j.name, fate)
	report.Log(ctx, slog.LevelWarn, text, append(args, more...)...)
}

// again asks for a job that has failed to be delivered again, and returns what becomes of it.
func (j *jobs) again(ctx context.Context, m jetstream.Msg, pause time.Duration) fate {
	err := j.leave(ctx, func(context.Context) error { return m.NakWithDelay(pause) })
	switch meta, e := m.Metadata(); {
	case says(err, jetstream.ErrMsgAlreadyAckd):
		return fateDone
	case e == nil && j.deliveries > 0 && meta.NumDelivered >= uint64(j.deliveries):
		return fateDead
	}
	return fateAgain
}

// delay returns how long a job that has failed waits for its next delivery.
func (j *jobs) delay(ctx context.Context, m jetstream.Msg, err error) (pause time.Duration) {
	if j.Backoff == nil {
		return j.pause(m)
	}
	defer func() {
		if v := recover(); v != nil {
			pause = j.pause(m)
			report.Log(ctx, slog.LevelError, "nats: Backoff panicked, so the pause is the usual one",
				"subject", m.Subject(), "after", pause, "panic", report.Text("%v", v), "stack", string(debug.Stack()))
		}
	}()
	return max(j.Backoff(m, err), 0)
}

// pause returns how long a job waits if the Worker has no Backoff.
func (j *jobs) pause(m jetstream.Msg) time.Duration { return pauseAfter(delivered(m), j.backOff) }

// delivered returns how often the server has delivered m.
func delivered(m jetstream.Msg) uint64 {
	if meta, err := m.Metadata(); err == nil {
		return max(meta.NumDelivered, 1)
	}
	return 1
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
func (j *jobs) progress(ctx context.Context) error {
	for range rondo.Every(ctx, j.every) {
		running := make([]jetstream.Msg, 0, len(j.running))
		for m := range j.running {
			running = append(running, m)
		}
		if len(running) == 0 {
			continue
		}
		err := beside(ctx, func(context.Context) error {
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
