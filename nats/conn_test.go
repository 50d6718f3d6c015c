package nats

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/nats/internal/answer"
	"github.com/rondo-go/rondo/nats/internal/rpc"
	"github.com/rondo-go/rondo/sim"
)

func TestMain(m *testing.M) {
	answer.Wait = time.Minute // what a test expects of an answer must not depend on the machine
	leak.Main(m)
}

// connected runs body with a connection to a fake server.
func connected(t *testing.T, body func(g *rondo.Scope, c *Conn, f *fake) error) {
	t.Helper()
	f := newFake(t)
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			ignore := natsgo.ErrorHandler(func(*natsgo.Conn, *natsgo.Subscription, error) {})
			// Tests hold up the loop and the client: no ping may take that for a server that hangs.
			c, err := Connect(g, f.url(), ignore, natsgo.PingInterval(-1))
			if err != nil {
				return err
			}
			return body(g, c, f)
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDrainTimeout: a connection whose server does not answer at the end is cut off after
// DrainTimeout.
func TestDrainTimeout(t *testing.T) {
	watchdog := time.AfterFunc(5*time.Second, func() { panic("it waits for longer than DrainTimeout") })
	defer watchdog.Stop()
	f := newFake(t)
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			_, err := Connect(g, f.url(), natsgo.PingInterval(-1), natsgo.DrainTimeout(10*time.Millisecond))
			f.mute.Store(true)
			return err
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDroppedByTheClient: Dropped counts what the client drops because nobody takes what
// it has read, and still does when the Subscription has ended.
func TestDroppedByTheClient(t *testing.T) {
	connected(t, func(g *rondo.Scope, c *Conn, f *fake) error {
		const n, most = channelMax + 10_000, 100
		s, err := c.Subscribe(g, "flood", most)
		if err != nil {
			return err
		}
		if err := c.Flush(g); err != nil {
			return err
		}
		err = rondo.OffloadFunc(g, func(context.Context) error {
			c.in.mu.Lock() // the reader stands still
			defer c.in.mu.Unlock()
			f.deliver("flood", "x", n)
			return c.nc.Flush()
		})
		if err != nil {
			return err
		}
		if err := c.Flush(g); err != nil {
			return err
		}
		if got := int(s.Dropped()) + s.Len(); got != n || s.Len() == 0 || s.Len() > most {
			t.Errorf("%d dropped and %d held, want %d together", s.Dropped(), s.Len(), n)
		}
		if s.lost == 0 {
			t.Error("the client has dropped none")
		}
		dropped := s.Dropped()
		s.Close()
		if err := c.Flush(g); err != nil {
			return err
		}
		if s.Dropped() != dropped {
			t.Errorf("%d dropped after the end, %d before", s.Dropped(), dropped)
		}
		return nil
	})
}

// TestNextCase: a message is a case of a Select, and one for which a task was woken is not
// taken by another.
func TestNextCase(t *testing.T) {
	connected(t, func(g *rondo.Scope, c *Conn, _ *fake) error {
		s, err := c.Subscribe(g, "news", 10)
		if err != nil {
			return err
		}
		var m *natsgo.Msg
		if i, err := rondo.Select(g, s.NextCase(&m), rondo.After(0)); i != 1 || err != nil {
			t.Errorf("without a message: case %d, %v", i, err)
		}
		var got []string
		var stop rondo.Event
		reader := g.Go(func(ctx context.Context) error {
			i, err := rondo.Select(ctx, stop.WaitCase(), s.NextCase(&m))
			if i == 1 && err == nil {
				got = append(got, "select "+string(m.Data))
			}
			return err
		})
		for reader.Info().Waiting == "" {
			if err := rondo.Yield(g); err != nil {
				return err
			}
		}
		s.take([]*natsgo.Msg{{Data: []byte("a")}})
		if s.Len() != 0 || s.promised != 1 {
			t.Errorf("%d messages are free and %d promised", s.Len(), s.promised)
		}
		s.take([]*natsgo.Msg{{Data: []byte("b")}})
		other, err := s.Next(g)
		if err != nil {
			return err
		}
		got = append(got, "next "+string(other.Data))
		if err := reader.Wait(g); err != nil {
			return err
		}
		// Next may give the reader a turn before it looks.
		order := strings.Join(got, ", ")
		if order != "next a, select b" && order != "select a, next b" || s.promised != 0 || c.waits != 0 {
			t.Errorf("taken: %s, %d promised, %d waits", order, s.promised, c.waits)
		}
		s.Close()
		if i, err := rondo.Select(g, stop.WaitCase(), s.NextCase(&m)); i != 1 || err != natsgo.ErrBadSubscription {
			t.Errorf("after Close: case %d, %v", i, err)
		}
		return nil
	})
}

// TestOffTheLoop: a Conn is used by tasks of its loop only, and says so.
func TestOffTheLoop(t *testing.T) {
	connected(t, func(g *rondo.Scope, c *Conn, _ *fake) error {
		use := func(where string, ctx context.Context) {
			_, err := c.Request(ctx, "a", nil)
			_, err2 := c.Subscribe(ctx, "a", 1)
			_, err3 := Call[int, int](ctx, c, "a", 1)
			for i, err := range []error{err, err2, err3, c.Publish(ctx, "a", nil), c.Flush(ctx), c.Drain(ctx)} {
				if !errors.Is(err, rondo.ErrNoLoop) {
					t.Errorf("%s, call %d: %v", where, i, err)
				}
			}
		}
		return rondo.OffloadFunc(g, func(context.Context) error {
			use("on a goroutine", g)
			return rondo.Run(context.Background(), func(ctx context.Context) error {
				use("on another loop", ctx)
				return nil
			})
		})
	})
}

// TestBadSubjects: what would end a line of the protocol is refused, and nothing is sent.
func TestBadSubjects(t *testing.T) {
	connected(t, func(g *rondo.Scope, c *Conn, _ *fake) error {
		for _, m := range []*natsgo.Msg{
			{Subject: ""}, {Subject: "a b"}, {Subject: "a..b"}, {Subject: ".a"}, {Subject: "a."}, {Subject: "a.*"}, {Subject: ">"},
			{Subject: strings.Repeat("a", 5000)}, {Subject: "a", Reply: strings.Repeat("b", 5000)}, {Subject: "a", Reply: "b.*"},
			{Subject: "a\r\nPUB b 0\r\n"}, {Subject: "a", Reply: "b 0\r\n\r\nPUB c 0\r\n"},
		} {
			if err := c.PublishMsg(g, m); !errors.Is(err, natsgo.ErrBadSubject) {
				t.Errorf("%q with the reply %q: %v", m.Subject, m.Reply, err)
			}
		}
		if _, err := c.Subscribe(g, strings.Repeat("a", 5000), 1); !errors.Is(err, natsgo.ErrBadSubject) || len(err.Error()) > 300 {
			t.Errorf("a long subject: %v", err)
		}
		if _, err := c.Subscribe(g, "a\r\nSUB b 1", 1); !errors.Is(err, natsgo.ErrBadSubject) {
			t.Errorf("a subscription: %v", err)
		}
		return nil
	})
}

// TestConnectCancelled: Connect to a server that never says anything ends when it is
// cancelled.
func TestConnectCancelled(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	gone := errors.New("not needed any more")
	err = rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				c, err := rondo.Offload(ctx, func(context.Context) (net.Conn, error) { return l.Accept() })
				if err != nil {
					return err
				}
				defer c.Close() // which ends the client's wait too
				g.Cancel(gone)
				return nil
			})
			_, err := Connect(g, "nats://"+l.Addr().String())
			return err
		})
	})
	if !errors.Is(err, gone) {
		t.Error(err)
	}
}

// TestPatience: how soon a job is delivered again is that of the consumer.
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		config jetstream.ConsumerConfig
		want   time.Duration
	}{
		{jetstream.ConsumerConfig{}, 30 * time.Second},
		{jetstream.ConsumerConfig{AckWait: time.Second}, time.Second},
		{jetstream.ConsumerConfig{AckWait: time.Minute, BackOff: []time.Duration{2 * time.Second, time.Second, time.Hour}}, time.Second},
	} {
		if got := patience(c.config); got != c.want {
			t.Errorf("%v and %v: %v, want %v", c.config.AckWait, c.config.BackOff, got, c.want)
		}
	}
}

// TestProgress: while a job runs for longer than AckWait, the server is told so in time.
func TestProgress(t *testing.T) {
	const ackWait = 300 * time.Millisecond
	// Once: the answer of a goroutine may be there before the task waits for it.
	sim.Config{Goroutines: true, Exact: true, Once: true}.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			defer g.Cancel(nil)
			last := time.Now() // of the job's delivery, or of a message about it
			hear := func() {
				if silent := time.Since(last); silent >= ackWait {
					t.Errorf("the server has heard nothing for %v", silent)
				}
				last = time.Now()
			}
			consumer := &fakeConsumer{jobs: make(chan *fakeJob, 1), answers: make(chan string, 1), ended: g.Done(), ackWait: ackWait, runs: hear}
			consumer.jobs <- &fakeJob{consumer: consumer}
			err := Work(g, consumer, 1, func(ctx context.Context, _ jetstream.Msg) error { return rondo.Sleep(ctx, time.Second) })
			answer, _, stopped := rondo.Receive(g, consumer.answers)
			hear()
			if answer != "ack" {
				t.Errorf("the job was answered by %q", answer)
			}
			return errors.Join(err, stopped)
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestDecodeUnknown: a message of a later version of the protocol is neither a request nor
// an answer.
func TestDecodeUnknown(t *testing.T) {
	m := natsgo.NewMsg("a")
	m.Header.Set(kindHeader, "stream")
	for _, plain := range []rpc.Kind{rpc.Request, rpc.Answer} {
		if got := decode(m, plain); got.Kind != rpc.Unknown || got.Quiet {
			t.Errorf("%+v", got)
		}
	}
	m.Header.Set(kindHeader, kinds[rpc.Failure])
	if got := decode(m, rpc.Answer); got.Kind != rpc.Failure {
		t.Errorf("%+v", got)
	}
}

// TestServeTakesBursts: requests that come while the loop is busy are not dropped, because
// those that have no room are to be refused.
func TestServeTakesBursts(t *testing.T) {
	connected(t, func(g *rondo.Scope, c *Conn, f *fake) error {
		const n = heldMax + 1000
		runs := 0
		if err := Serve(g, c, "burst", n, func(context.Context, int) (int, error) { runs++; return 0, nil }); err != nil {
			return err
		}
		if err := c.Flush(g); err != nil {
			return err
		}
		s := c.subscriptions[len(c.subscriptions)-1]
		f.deliver("burst", "1", n)
		for come := 0; come < n; runtime.Gosched() { // the loop stands still
			c.in.mu.Lock()
			come = int(s.arrived) + int(s.dropped.Load())
			c.in.mu.Unlock()
		}
		if err := c.Flush(g); err != nil {
			return err
		}
		for s.dropped.Load() == 0 && runs < n {
			if err := rondo.Yield(g); err != nil {
				return err
			}
		}
		if runs != n {
			t.Errorf("%d ran of %d, %d were dropped", runs, n, s.dropped.Load())
		}
		g.Cancel(nil)
		return nil
	})
}

// TestHandleBytes: what waits for a task of Handle is bounded in bytes too; what is beyond that
// is dropped, and what was handled makes room.
func TestHandleBytes(t *testing.T) {
	connected(t, func(g *rondo.Scope, c *Conn, f *fake) error {
		handled := 0
		if err := c.Handle(g, "bulk", "", 1, func(context.Context, *natsgo.Msg) error { handled++; return nil }); err != nil {
			return err
		}
		if err := c.Flush(g); err != nil {
			return err
		}
		s := c.subscriptions[len(c.subscriptions)-1]
		const size = 512 << 10
		for round := 1; round <= 2; round++ {
			f.deliver("bulk", strings.Repeat("x", size), heldBytes/size+10)
			standStill(c, s, round*(heldBytes/size+10))
			if err := c.Flush(g); err != nil {
				return err
			}
			for handled < int(s.arrived) {
				if err := rondo.Yield(g); err != nil {
					return err
				}
			}
			if dropped := int(s.dropped.Load()); dropped != 10*round {
				t.Errorf("%d messages were dropped after %d rounds, want %d a round", dropped, round, 10)
			}
		}
		g.Cancel(nil)
		return nil
	})
}

// standStill returns when n messages of s have come or were dropped. The loop stands still
// meanwhile.
func standStill(c *Conn, s *Subscription, n int) {
	for come := 0; come < n; runtime.Gosched() {
		c.in.mu.Lock()
		come = int(s.arrived) + int(s.dropped.Load())
		c.in.mu.Unlock()
	}
}

// TestAnswersHaveRoom: the answers that wait for the loop may be of any size together. Each of
// them was asked for, and a call whose answer is dropped would be lost.
func TestAnswersHaveRoom(t *testing.T) {
	connected(t, func(g *rondo.Scope, c *Conn, f *fake) error {
		if _, err := c.endpoint(g, "call", "f"); err != nil {
			return err
		}
		if err := c.Flush(g); err != nil {
			return err
		}
		s := c.subscriptions[len(c.subscriptions)-1]
		const size = 512 << 10
		f.deliver(strings.TrimSuffix(s.subject, "*"), strings.Repeat("x", size), heldBytes/size+10)
		standStill(c, s, heldBytes/size+10)
		if n := s.dropped.Load(); n != 0 {
			t.Errorf("%d answers were dropped", n)
		}
		g.Cancel(nil)
		return nil
	})
}

// TestPause: a job that fails waits longer each time, up to a minute, or as the list of its
// consumer says.
func TestPause(t *testing.T) {
	list := []time.Duration{time.Second, time.Minute, time.Hour}
	for delivered, want := range map[uint64][2]time.Duration{
		1: {500 * time.Millisecond, time.Second}, 2: {time.Second, time.Minute}, 3: {2 * time.Second, time.Hour},
		4: {4 * time.Second, time.Hour}, 8: {time.Minute, time.Hour}, 1 << 40: {time.Minute, time.Hour},
	} {
		if got := pauseAfter(delivered, nil); got != want[0] {
			t.Errorf("after %d deliveries %v, want %v", delivered, got, want[0])
		}
		if got := pauseAfter(delivered, list); got != want[1] {
			t.Errorf("after %d deliveries with a list %v, want %v", delivered, got, want[1])
		}
	}
}

// TestSchedules: a server that would store a job with a time for ever is known by its version.
func TestSchedules(t *testing.T) {
	for version, want := range map[string]bool{"2.11.9": false, "1.4.0": false, "2.12.0": true, "2.15.2-RC1": true, "3.0.0": true, "dev": true, "": true} {
		if err := schedules(version); (err == nil) != want {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// TestLimitIsKnown: what the server accepts is known as soon as the connection is there. The
// client's callbacks may be late, and here there are none.
func TestLimitIsKnown(t *testing.T) {
	f := newFake(t)
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		var c Conn
		o := natsgo.GetDefaultOptions()
		o.Url = f.url()
		nc, err := c.dial(ctx, o)
		if err != nil {
			return err
		}
		defer nc.Close()
		if n := c.MaxPayload(); n != 1048576 {
			t.Errorf("MaxPayload is %d", n)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
