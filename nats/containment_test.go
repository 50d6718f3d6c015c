package nats

// The matrix of failures: each function that Serve, Work and Handle call for someone else fails
// in each way, with a log that works and with one that panics. Afterwards the next call, job or
// message is served, and the failure was reported once. The servers are a fake and a consumer
// in the process.

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
)

// Errors whose methods panic, with themselves: what prints the panic calls them again.
type (
	typedNil   struct{ text string }
	unprinted  struct{}
	uncompared []string
	hostile    struct{}
)

func (e *typedNil) Error() string { return e.text }

func (unprinted) Error() string { panic(unprinted{}) }

func (uncompared) Error() string { return "a slice" }

func (hostile) Error() string   { panic(hostile{}) }
func (hostile) Is(error) bool   { panic(hostile{}) }
func (hostile) As(any) bool     { panic(hostile{}) }
func (hostile) Unwrap() error   { panic(hostile{}) }
func (hostile) Timeout() bool   { panic(hostile{}) }
func (hostile) Temporary() bool { panic(hostile{}) }

// A way is one in which a function fails.
type way struct {
	name string
	fail func(ctx context.Context) error
	says string // is in what is reported
}

var ways = []way{
	{"an error", func(context.Context) error { return errors.New("own") }, "own"},
	{"a typed nil", func(context.Context) error { return (*typedNil)(nil) }, "nil"},
	{"an error that cannot be printed", func(context.Context) error { return unprinted{} }, "nats.unprinted"},
	{"an error that cannot be compared", func(context.Context) error { return uncompared{"own"} }, "a slice"},
	{"an error whose methods panic", func(context.Context) error { return hostile{} }, "nats.hostile"},
	{"an error that wraps one of those", func(context.Context) error { return errors.Join(errors.New("own"), hostile{}) }, "cannot be printed"},
	{"a panic", func(context.Context) error { panic("own") }, "own"},
	{"a panic with an error that cannot be printed", func(context.Context) error { panic(unprinted{}) }, "nats.unprinted"},
	{"a runtime error", func(context.Context) error { var p *way; _ = p.name; return nil }, "nil pointer dereference"},
	{"a deadline", func(ctx context.Context) error {
		return rondo.Timeout(ctx, 1, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
	}, "deadline exceeded"},
}

// inTask returns the way in which a task of the function fails so, for which nobody waits. The
// function returns when the task has ended, because it is cancelled then.
func (w way) inTask() way {
	fail := w.fail
	w.name += " in a task"
	w.fail = func(ctx context.Context) error {
		task := rondo.Go(ctx, fail)
		for !task.Done() {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	return w
}

// A place calls fn for someone else. ask has it do so, with "bad" or "good" as its input, and
// returns what comes back: an error, or nil if nobody is told.
type place struct {
	name string
	open func(g *rondo.Scope, c *Conn, f *fake, fn func(ctx context.Context, in string) error) (ask func(ctx context.Context, in string) error, err error)
	told bool // the one who asks is told
}

var places = []place{
	{"Serve", func(g *rondo.Scope, c *Conn, _ *fake, fn func(context.Context, string) error) (func(context.Context, string) error, error) {
		err := Serve(g, c, "name", 1, func(ctx context.Context, in string) (string, error) { return in, fn(ctx, in) })
		return func(ctx context.Context, in string) error {
			_, err := Call[string, string](ctx, c, "name", in)
			return err
		}, err
	}, true},
	{"Handle", func(g *rondo.Scope, c *Conn, f *fake, fn func(context.Context, string) error) (func(context.Context, string) error, error) {
		ran := rondo.NewQueue[string](0)
		err := c.Handle(g, "subject", "", 1, func(ctx context.Context, m *natsgo.Msg) error {
			ran.TryPut(string(m.Data))
			return fn(ctx, string(m.Data))
		})
		if err == nil {
			err = c.Flush(g)
		}
		return func(ctx context.Context, in string) error {
			f.deliver("subject", in, 1)
			_, err := ran.Get(ctx)
			return err
		}, err
	}, false},
	{"Work with DeadLetters", func(g *rondo.Scope, c *Conn, _ *fake, fn func(context.Context, string) error) (func(context.Context, string) error, error) {
		stored := func(ctx context.Context, m *natsgo.Msg) error {
			return c.Publish(ctx, m.Reply, []byte(`{"stream":"DEAD","seq":1}`))
		}
		if err := errors.Join(c.Handle(g, "dead", "", 1, stored), c.Flush(g)); err != nil {
			return nil, err
		}
		consumer := &fakeConsumer{jobs: make(chan *fakeJob, 1), answers: make(chan string, 1), ended: g.Done()}
		w := &Worker{Conn: c, DeadLetters: "dead", MaxAttempts: 1}
		err := w.Work(g, consumer, 1, func(ctx context.Context, m jetstream.Msg) error { return fn(ctx, string(m.Data())) })
		return func(ctx context.Context, in string) error {
			consumer.jobs <- &fakeJob{consumer: consumer, data: in}
			answer, _, err := rondo.Receive(ctx, consumer.answers)
			if want := map[string]string{"good": "ack", "bad": "term"}[in]; err == nil && answer != want {
				return errors.New("a " + in + " job was answered by " + answer)
			}
			return err
		}, err
	}, false},
	{"Work", func(g *rondo.Scope, _ *Conn, _ *fake, fn func(context.Context, string) error) (func(context.Context, string) error, error) {
		consumer := &fakeConsumer{jobs: make(chan *fakeJob, 1), answers: make(chan string, 1), ended: g.Done()}
		err := Work(g, consumer, 1, func(ctx context.Context, m jetstream.Msg) error { return fn(ctx, string(m.Data())) })
		return func(ctx context.Context, in string) error {
			consumer.jobs <- &fakeJob{consumer: consumer, data: in}
			answer, _, err := rondo.Receive(ctx, consumer.answers)
			if want := map[string]string{"good": "ack", "bad": "nak"}[in]; err == nil && answer != want {
				return errors.New("a " + in + " job was answered by " + answer)
			}
			return err
		}, err
	}, false},
}

// A fakeConsumer delivers jobs one by one.
type fakeConsumer struct {
	jetstream.Consumer
	jobs    chan *fakeJob
	answers chan string
	ended   <-chan struct{}
	ackWait time.Duration
	runs    func() // is called by InProgress, if set
}

func (c *fakeConsumer) CachedInfo() *jetstream.ConsumerInfo {
	return &jetstream.ConsumerInfo{Config: jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.ackWait}}
}

func (c *fakeConsumer) Fetch(int, ...jetstream.FetchOpt) (jetstream.MessageBatch, error) {
	messages := make(chan jetstream.Msg)
	go func() {
		defer close(messages)
		select {
		case j := <-c.jobs:
			messages <- j
		case <-c.ended:
		}
	}()
	return fakeBatch(messages), nil
}

type fakeBatch chan jetstream.Msg

func (b fakeBatch) Messages() <-chan jetstream.Msg { return b }
func (b fakeBatch) Error() error                   { return nil }

type fakeJob struct {
	jetstream.Msg
	consumer *fakeConsumer
	data     string
}

func (j *fakeJob) Subject() string        { return "job" }
func (j *fakeJob) Data() []byte           { return []byte(j.data) }
func (j *fakeJob) Headers() natsgo.Header { return nil }

func (j *fakeJob) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{NumDelivered: 1}, nil
}

func (j *fakeJob) Ack() error                       { j.consumer.answers <- "ack"; return nil }
func (j *fakeJob) NakWithDelay(time.Duration) error { j.consumer.answers <- "nak"; return nil }
func (j *fakeJob) Term() error                      { j.consumer.answers <- "term"; return nil }

func (j *fakeJob) InProgress() error {
	if j.consumer.runs != nil {
		j.consumer.runs()
	}
	return nil
}

// A watchedLog counts the lines, prints them, and may panic then.
type watchedLog struct {
	slog.Handler
	panics bool
	lines  *atomic.Int64
}

func (l watchedLog) Handle(ctx context.Context, r slog.Record) error {
	// On a machine that is busy a step is long, and a fetch has not returned when the loop ends.
	if strings.Contains(r.Message, "holds the loop") || strings.Contains(r.Message, "was abandoned") {
		return nil
	}
	l.lines.Add(1)
	if l.panics {
		panic(hostile{})
	}
	return l.Handler.Handle(ctx, r)
}

// TestContainment tries each place with each way.
func TestContainment(t *testing.T) {
	all := ways
	for _, w := range ways {
		all = append(all, w.inTask())
	}
	for _, p := range places {
		for _, panics := range []bool{false, true} {
			name := p.name
			if panics {
				name += ", and the log panics"
			}
			t.Run(name, func(t *testing.T) {
				for _, w := range all {
					p.try(t, w, panics)
				}
			})
		}
	}
}

// try has the place fail in one way, and looks at what is left.
func (p place) try(t *testing.T, w way, panics bool) {
	log, lines := watchLog(t, panics)
	var told error
	connected(t, func(g *rondo.Scope, c *Conn, f *fake) error {
		defer g.Cancel(nil)
		return rondo.Timeout(g, time.Minute, func(ctx context.Context) error {
			ask, err := p.open(g, c, f, func(ctx context.Context, in string) error {
				if in == "bad" {
					return w.fail(ctx)
				}
				return nil
			})
			if err != nil {
				return err
			}
			for _, in := range []string{"good", "bad", "good", "good"} {
				if err := ask(ctx, in); in == "bad" && p.told {
					told = err
				} else if err != nil {
					return err
				}
			}
			return nil
		})
	})
	remote, _ := errors.AsType[*RemoteError](told)
	want := int64(1)
	if p.told {
		if remote == nil || !strings.Contains(remote.Text, w.says) {
			t.Errorf("%s: the caller got %v, which does not say %q", w.name, told, w.says)
			return
		}
		if !remote.Panic {
			want = 0
		}
	}
	text := log()
	if n := lines.Load(); n != want || want == 1 && !strings.Contains(text, w.says) {
		t.Errorf("%s: %d lines were logged, want %d with %q:\n%s", w.name, n, want, w.says, text)
	}
}

// watchLog puts a log in place of the program's until the function that it returns, which has
// what was written, also on standard error, is called.
func watchLog(t *testing.T, panics bool) (written func() string, lines *atomic.Int64) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	log, stderr := slog.Default(), os.Stderr
	lines = new(atomic.Int64)
	os.Stderr = f
	slog.SetDefault(slog.New(watchedLog{slog.NewTextHandler(f, nil), panics, lines}))
	return func() string {
		slog.SetDefault(log)
		os.Stderr = stderr
		defer f.Close()
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Error(err)
		}
		text, err := io.ReadAll(f)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}, lines
}

// TestHooksPanic: a panic of the ErrorHandler or of ReplyAllowed is logged, and the connection
// goes on.
func TestHooksPanic(t *testing.T) {
	log, lines := watchLog(t, false)
	f := newFake(t)
	handled := make(chan error, 1)
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			c, err := Connect(g, f.url(), natsgo.PingInterval(-1), natsgo.ErrorHandler(func(_ *natsgo.Conn, _ *natsgo.Subscription, err error) {
				handled <- err
				panic("handler")
			}))
			if err != nil {
				return err
			}
			c.ReplyAllowed = func(subject string) bool {
				if subject == "elsewhere" {
					panic("allowed")
				}
				return true
			}
			if err := Serve(g, c, "name", 1, func(_ context.Context, in string) (string, error) { return in, nil }); err != nil {
				return err
			}
			if err := c.Flush(g); err != nil {
				return err
			}
			f.send("MSG", "name", []string{"elsewhere"}, `"x"`, 1)
			err, _, stopped := rondo.Receive(g, handled)
			if stopped != nil {
				return stopped
			}
			if !errors.Is(err, natsgo.ErrBadSubject) {
				t.Errorf("the ErrorHandler got %v", err)
			}
			if out, err := Call[string, string](g, c, "name", "good"); out != "good" || err != nil {
				t.Errorf("the next call returned %q, %v", out, err)
			}
			g.Cancel(nil)
			return nil
		})
	})
	text := log()
	if err != nil || lines.Load() != 2 || !strings.Contains(text, "panic=allowed") || !strings.Contains(text, "panic=handler") {
		t.Errorf("%v; %d lines were logged, want 2 with the panics:\n%s", err, lines.Load(), text)
	}
}

// TestBackoffPanics: when Backoff panics, in each way, the job is delivered again, and the panic
// and the job's failure are one line each.
func TestBackoffPanics(t *testing.T) {
	for _, w := range ways {
		if !strings.HasPrefix(w.name, "a panic") && w.name != "a runtime error" {
			continue
		}
		for _, panics := range []bool{false, true} {
			log, lines := watchLog(t, panics)
			connected(t, func(g *rondo.Scope, c *Conn, _ *fake) error {
				defer g.Cancel(nil)
				consumer := &fakeConsumer{jobs: make(chan *fakeJob, 1), answers: make(chan string, 1), ended: g.Done()}
				worker := &Worker{Backoff: func(jetstream.Msg, error) time.Duration { return time.Duration(len(w.fail(nil).Error())) }}
				err := worker.Work(g, consumer, 1, func(_ context.Context, m jetstream.Msg) error {
					if string(m.Data()) == "bad" {
						return errors.New("failed")
					}
					return nil
				})
				for _, in := range []string{"good", "bad", "good"} {
					consumer.jobs <- &fakeJob{consumer: consumer, data: in}
					answer, _, e := rondo.Receive(g, consumer.answers)
					if want := map[string]string{"good": "ack", "bad": "nak"}[in]; answer != want {
						t.Errorf("%s: a %s job was answered by %s", w.name, in, answer)
					}
					err = errors.Join(err, e)
				}
				return err
			})
			if text := log(); lines.Load() != 2 || !strings.Contains(text, w.says) {
				t.Errorf("%s: %d lines were logged, want 2 with %q:\n%s", w.name, lines.Load(), w.says, text)
			}
		}
	}
}
