package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats/internal/report"
)

// ErrDrained is the reason of Closed when a worker is to end in order: it takes no more
// requests, and those that it has run to their end.
var ErrDrained = errors.New("nats: drained")

// errCancelled is what a function's waits fail with when its caller no longer waits.
var errCancelled = fmt.Errorf("nats: the caller no longer waits: %w", context.Canceled)

// A worker serves one name.
type worker struct {
	endpoint *Endpoint
	name     string
	limit    int
	fn       func(ctx context.Context, header map[string][]string, data []byte) ([]byte, error)
	scope    *rondo.Scope // owns the jobs
	jobs     int
	bytes    int         // of their requests
	over     rondo.Event // no more requests will come
	why      error       // why that is an error
}

// A job is one call at the worker.
type job struct {
	worker      *worker
	id          uint64
	place       int // in Endpoint.jobs
	request     Message
	size        int // of the request; a program may change its header
	deadline    time.Time
	task        *rondo.Task
	cancelled   bool // the caller no longer waits
	unreachable bool // the last heartbeat reached nobody
	unreached   int  // how many in a row have not
	panicking   bool // the caller knows of the function's panic
}

// Serve calls fn in a task for each request to name, at most limit at once. It suspends
// the task until it is subscribed; g owns the tasks. ended is called when all have ended.
func (e *Endpoint) Serve(g *rondo.Scope, name string, limit int, fn func(ctx context.Context, header map[string][]string, data []byte) ([]byte, error), ended func()) error {
	w := &worker{endpoint: e, name: name, limit: limit, fn: fn}
	w.over.Name = name
	return g.Start(g, func(ctx context.Context, started func()) error {
		rondo.Current(ctx).SetName("serve " + name)
		defer ended()
		if e.mark != nil {
			ctx = context.WithValue(ctx, e.mark, true)
		}
		return rondo.Group(ctx, func(s *rondo.Scope) error {
			s.SetLimit(limit)
			w.scope = s
			unsubscribe, err := e.transport.Subscribe(s, name, name, w.receive)
			if err != nil {
				return err
			}
			started()
			err = w.over.Wait(s)
			unsubscribe()
			if err != nil {
				return err
			}
			return w.why
		})
	})
}

// receive takes a request.
func (w *worker) receive(m Message) {
	e := w.endpoint
	if m.Kind == Closed {
		if m.Err != ErrDrained {
			w.why = m.Err
		}
		w.over.Set()
		return
	}
	listens := m.Reply != "" && !m.Quiet
	switch {
	case m.Kind == Unknown:
		e.tell(&job{}, Message{Subject: m.Reply, Kind: Refused})
		return
	case m.Kind != Request:
		return
	case listens && !e.recent.add(m.Reply):
		return
	case w.jobs-waitingMax >= w.limit || w.jobs >= w.limit && w.bytes+m.size() > waitingBytes || w.over.IsSet() || w.scope.Err() != nil:
		e.tell(&job{}, Message{Subject: m.Reply, Kind: Refused, Quiet: m.Quiet})
		return
	}
	e.lastJob++
	j := &job{worker: w, id: e.lastJob, request: m, size: m.size()}
	if m.Timeout > 0 {
		j.deadline = rondo.Now(w.scope).Add(m.Timeout)
	}
	w.jobs++
	w.bytes += m.size()
	if listens {
		e.byID[j.id] = j
		j.place = len(e.jobs)
		e.jobs = append(e.jobs, j)
		e.busy.Set()
	}
	j.task = w.scope.Go(j.run)
	j.task.SetName(w.name)
}

// forget is called when a job has ended.
func (e *Endpoint) forget(j *job) {
	j.worker.jobs--
	j.worker.bytes -= j.size
	if e.byID[j.id] == nil {
		return
	}
	delete(e.byID, j.id)
	last := len(e.jobs) - 1
	e.jobs[j.place] = e.jobs[last]
	e.jobs[j.place].place = j.place
	e.jobs[last] = nil
	e.jobs = e.jobs[:last]
	if last == 0 {
		e.busy.Clear()
	}
}

// told takes a message to a job.
func (j *job) told(k Kind) {
	switch k {
	case Cancel:
		j.cancel()
	case Unreachable:
		j.unreachable = true
	}
}

func (j *job) cancel() {
	j.cancelled = true
	j.task.Cancel(errCancelled)
}

// run is the task of a job.
func (j *job) run(ctx context.Context) error {
	e, w := j.worker.endpoint, j.worker
	defer e.forget(j)
	m := Message{Subject: j.request.Reply, Quiet: j.request.Quiet}
	if j.cancelled || rondo.Check(ctx) != nil {
		m.Kind = Refused
		e.tell(j, m)
		return nil
	}
	var data []byte
	err := rondo.Contain(ctx, func(ctx context.Context) (err error) {
		data, err = j.call(ctx)
		return err
	})
	if p, ok := err.(*rondo.PanicError); ok && !j.panicking { // of a task that the function has started
		j.panicked(p.Value, p.Stack)
	}
	if j.panicking {
		report.Log(ctx, slog.LevelError, "nats: a function of Serve panicked", "name", w.name, "err", report.Text("%+v", err))
		return nil
	}
	most := e.transport.MaxPayload()
	switch {
	case m.Subject == "":
		return nil
	case err != nil && rondo.Check(ctx) != nil:
		m.Kind = Stopped
	case err != nil:
		m.Kind, m.Data = Failure, []byte(report.Text("%v", err))
	case most > 0 && len(data) > most:
		m.Kind, m.Data = Failure, fmt.Appendf(nil, "the result has %d bytes, and a message has room for %d", len(data), most)
	default:
		m.Kind, m.Data = Answer, data
	}
	if most > 0 && len(m.Data) > most {
		m.Data = m.Data[:most]
	}
	if rondo.Check(ctx) != nil { // nothing can be waited for
		e.tell(j, m)
		return nil
	}
	if err := e.transport.Publish(ctx, m); err != nil && rondo.Check(ctx) == nil && !w.over.IsSet() {
		j.unanswered(ctx, m, err)
	}
	return nil
}

// unanswered is called when the answer m could not be published. That ends no other call. The
// caller is told if a message without data can be.
func (j *job) unanswered(ctx context.Context, m Message, err error) {
	report.Log(ctx, slog.LevelError, "nats: an answer of Serve was not sent", "name", j.worker.name, "err", report.Text("%v", err))
	m.Kind, m.Data = Failure, nil
	j.worker.endpoint.tell(j, m)
}

// tell sends the end of a job without waiting, unless nobody waits for it.
func (e *Endpoint) tell(j *job, m Message) {
	if m.Subject != "" && !j.cancelled {
		e.control.TryPut(m)
	}
}

// call calls the function, and tells the caller of a panic before it goes on.
func (j *job) call(ctx context.Context) (data []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			j.panicked(v, debug.Stack())
			panic(v)
		}
	}()
	if j.deadline.IsZero() {
		return j.worker.fn(ctx, j.request.Header, j.request.Data)
	}
	err = rondo.Deadline(ctx, j.deadline, func(ctx context.Context) (err error) {
		data, err = j.worker.fn(ctx, j.request.Header, j.request.Data)
		return err
	})
	return data, err
}

func (j *job) panicked(v any, stack []byte) {
	j.panicking = true
	m := Message{Subject: j.request.Reply, Kind: Panic, Quiet: j.request.Quiet}
	text := report.Text("%v", v)
	m.Data = append(strconv.AppendInt(nil, int64(len(text)), 10), '\n')
	m.Data = append(m.Data, text...)
	if j.request.Stack {
		m.Data = append(m.Data, stack...)
	}
	if most := j.worker.endpoint.transport.MaxPayload(); most > 0 && len(m.Data) > most {
		m.Data = m.Data[:most]
	}
	j.worker.endpoint.tell(j, m)
}

// splitPanic returns the text of a panic, and the stack.
func splitPanic(data []byte) (text, stack string) {
	head, rest, _ := strings.Cut(string(data), "\n")
	n, err := strconv.Atoi(head)
	if err != nil || n < 0 || n > len(rest) {
		return rest, ""
	}
	return rest[:n], rest[n:]
}

// beat is the task that sends the heartbeats of all jobs.
func (e *Endpoint) beat(ctx context.Context) error {
	for {
		if err := e.busy.Wait(ctx); err != nil {
			return err
		}
		if err := rondo.Sleep(ctx, Beat); err != nil {
			return err
		}
		for i := 0; i < len(e.jobs); i++ {
			j := e.jobs[i]
			if j.heard(); j.cancelled {
				continue
			}
			// One that cannot be sent is one that is lost.
			_ = e.transport.Publish(ctx, Message{Subject: j.request.Reply, Reply: e.jobSubject(j.id), Kind: Alive})
		}
	}
}

// heard cancels a job whose heartbeats have reached nobody for too long.
func (j *job) heard() {
	if !j.unreachable {
		j.unreached = 0
		return
	}
	j.unreachable = false
	if j.unreached++; j.unreached >= int(Silence/Beat) {
		j.cancel()
	}
}
