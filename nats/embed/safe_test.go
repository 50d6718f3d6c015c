package embed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/nats/embed"
)

// TestPrivate: a server without a Host is reached on this machine only, and with its token. One
// whose options say who may connect has no token, and one with a Host is left as it is.
func TestPrivate(t *testing.T) {
	for name, c := range map[string]struct {
		options server.Options
		token   bool
		host    string
	}{
		"nothing said":                  {server.Options{}, true, "127.0.0.1"},
		"with a user":                   {server.Options{Username: "u", Password: "p"}, false, "127.0.0.1"},
		"with a host":                   {server.Options{Host: "localhost"}, false, "localhost"},
		"for everybody":                 {server.Options{Host: "0.0.0.0"}, false, "0.0.0.0"},
		"with a cluster":                {server.Options{Cluster: server.ClusterOpts{Name: "c", Port: -1}}, true, "127.0.0.1"},
		"for everybody, with a cluster": {server.Options{Host: "0.0.0.0", Cluster: server.ClusterOpts{Name: "c", Port: -1}}, false, "0.0.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			err := rondo.Run(t.Context(), func(ctx context.Context) error {
				return rondo.Group(ctx, func(outer *rondo.Scope) error {
					c.options.Port, c.options.NoLog = server.RANDOM_PORT, true
					s, err := embed.Start(outer, &c.options)
					if err != nil {
						return err
					}
					if c.options.Authorization != "" {
						t.Error("the options were changed")
					}
					host, port, _ := net.SplitHostPort(strings.TrimPrefix(s.ClientURL(), "nats://"))
					if host != c.host {
						t.Errorf("it listens on %s, want %s", host, c.host)
					}
					if a := s.ClusterAddr(); a != nil && !a.IP.IsLoopback() {
						t.Errorf("its cluster listens on %v", a)
					}
					if has := embed.URL(s) != s.ClientURL(); has != c.token {
						t.Errorf("the address is %s, with a token: %v, want %v", embed.URL(s), has, c.token)
					}
					if !c.token {
						return nil
					}
					return rondo.Group(outer, func(g *rondo.Scope) error {
						if _, err := nats.Connect(g, "nats://127.0.0.1:"+port); !errors.Is(err, natsgo.ErrAuthorization) {
							t.Errorf("without the token: %v", err)
						}
						c := connect(t, g, embed.URL(s))
						return c.Flush(g)
					})
				})
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSeeds: a URL may name several servers, and Servers adds more; one that is there is
// found. A name that is none is an error.
func TestSeeds(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		const nobody = "nats://127.0.0.1:1"
		for name, connect := range map[string]func() (*nats.Conn, error){
			"a list in the URL": func() (*nats.Conn, error) { return nats.Connect(g, nobody+", "+url+",") },
			"an option":         func() (*nats.Conn, error) { return nats.Connect(g, "", nats.Servers(nobody, url)) },
			"both":              func() (*nats.Conn, error) { return nats.Connect(g, nobody, nats.Servers(nobody+","+url)) },
		} {
			c, err := connect()
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got := c.NC().ConnectedUrl(); got != url || len(c.NC().Servers()) < 2 {
				t.Errorf("%s: connected to %s of %v, want %s", name, got, c.NC().Servers(), url)
			}
		}
		if _, err := nats.Connect(g, url+",nats://[::1"); err == nil || !strings.HasPrefix(err.Error(), "nats: connect ") {
			t.Errorf("a bad URL: %v", err)
		}
		return nil
	})
}

// TestReplyAllowed: a worker answers to inboxes only, because it publishes the answer with its
// own rights. What asks for an answer elsewhere is not run and is reported. The program may
// decide otherwise.
func TestReplyAllowed(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		reports := make(chan error, 10)
		c := connect(t, g, url, natsgo.ErrorHandler(func(_ *natsgo.Conn, _ *natsgo.Subscription, err error) { reports <- err }))
		free := connect(t, g, url, natsgo.CustomInboxPrefix("answers.free"))
		free.ReplyAllowed = func(subject string) bool { return subject != "secret.other" }
		runs := map[string]int{}
		for name, c := range map[string]*nats.Conn{"strict": c, "free": free} {
			err := nats.Serve(g, c, name, 10, func(context.Context, int) (string, error) { runs[name]++; return name, nil })
			if err != nil {
				return err
			}
			if err := c.Flush(g); err != nil {
				return err
			}
		}
		secret, err := c.Subscribe(g, "secret.*", 10)
		if err != nil {
			return err
		}
		for _, m := range []*natsgo.Msg{
			{Subject: "strict", Reply: "secret.one"}, {Subject: "strict", Reply: "$JS.API.STREAM.DELETE.JOBS"}, {Subject: "strict", Reply: "strict"},
			{Subject: "free", Reply: "secret.other"}, {Subject: "free", Reply: "secret.two"},
		} {
			m.Data = []byte("1")
			if err := c.PublishMsg(g, m); err != nil {
				return err
			}
		}
		m, err := secret.Next(g)
		if err != nil {
			return err
		}
		// What inboxes ask is answered: that of the client, also with a prefix of its own.
		for _, caller := range []*nats.Conn{c, free} {
			if answer, err := nats.Call[int, string](g, caller, "free", 1); answer != "free" || err != nil {
				t.Errorf("%q, %v", answer, err)
			}
		}
		if answer, err := nats.Call[int, string](g, c, "strict", 1); answer != "strict" || err != nil {
			t.Errorf("%q, %v", answer, err)
		}
		if m.Subject != "secret.two" || string(m.Data) != `"free"` || runs["strict"] != 1 || runs["free"] != 3 || secret.Len() > 0 {
			t.Errorf("got %s %s; the functions ran %v", m.Subject, m.Data, runs)
		}
		report, _, err := rondo.Receive(g, reports)
		if err != nil || !errors.Is(report, natsgo.ErrBadSubject) || !strings.Contains(report.Error(), "secret.one") {
			t.Errorf("reported %v, %v", report, err)
		}
		return nil
	})
}

// A slow value takes its time to be decoded: until a task of the loop has run.
type slow string

var decoding, decoded = make(chan bool), make(chan bool)

func (s *slow) UnmarshalJSON(data []byte) error {
	select {
	case decoding <- true:
		<-decoded
	case <-time.After(20 * time.Second): // the loop stands still
		return errors.New("it was decoded on the loop")
	}
	return json.Unmarshal(data, (*string)(s))
}

// TestLargeJSON: what is large is decoded beside the loop, at the worker and at the caller.
func TestLargeJSON(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		err := nats.Serve(g, c, "echo", 1, func(_ context.Context, in slow) (string, error) { return string(in), nil })
		if err != nil {
			return err
		}
		if err := c.Flush(g); err != nil {
			return err
		}
		met := 0
		other := g.Go(func(ctx context.Context) error {
			for range 2 {
				if _, _, err := rondo.Receive(ctx, decoding); err != nil {
					return err
				}
				met++
				if err := rondo.OffloadFunc(ctx, func(context.Context) error { decoded <- true; return nil }); err != nil {
					return err
				}
			}
			return nil
		})
		large := strings.Repeat("x", 100<<10)
		out, err := nats.Call[string, slow](g, c, "echo", large)
		if err != nil || string(out) != large || met != 2 {
			t.Errorf("%d bytes, %v; the loop went on %d times", len(out), err, met)
		}
		return other.Wait(g)
	})
}

// TestPermissions: the rights that docs/NATS.md names are enough for a caller, a worker of
// calls, a producer and a worker of jobs, and a caller cannot do what they do not name.
func TestPermissions(t *testing.T) {
	may := func(publish, subscribe string) *server.Permissions {
		return &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: strings.Fields(publish)},
			Subscribe: &server.SubjectPermission{Allow: strings.Fields(subscribe)},
		}
	}
	o := withStore(t)
	o.Users = []*server.User{
		{Username: "admin", Password: "pw"},
		{Username: "caller", Password: "pw", Permissions: may("double _INBOX_worker.>", "_INBOX_caller.>")},
		{Username: "worker", Password: "pw", Permissions: may("_INBOX_caller.>", "double _INBOX_worker.>")},
		{Username: "producer", Password: "pw", Permissions: may("job.a", "_INBOX_producer.>")},
		{Username: "jobs", Password: "pw", Permissions: may("$JS.API.CONSUMER.MSG.NEXT.JOBS.workers $JS.API.CONSUMER.INFO.JOBS.workers $JS.ACK.JOBS.workers.> dead $KV.returned.> $JS.API.DIRECT.GET.KV_returned.> $JS.API.STREAM.INFO.KV_returned", "_INBOX_jobs.>")},
	}
	run(t, o, func(g *rondo.Scope, url string) error {
		connect := func(name string, more ...natsgo.Option) *nats.Conn {
			return connect(t, g, url, append(more, natsgo.UserInfo(name, "pw"), natsgo.CustomInboxPrefix("_INBOX_"+name))...)
		}
		worker := connect("worker")
		if err := nats.Serve(g, worker, "double", 1, func(_ context.Context, n int) (int, error) { return 2 * n, nil }); err != nil {
			return err
		}
		if err := worker.Flush(g); err != nil {
			return err
		}
		refused := make(chan error, 10)
		caller := connect("caller", natsgo.ErrorHandler(func(_ *natsgo.Conn, _ *natsgo.Subscription, err error) { refused <- err }))
		if n, err := nats.Call[int, int](g, caller, "double", 21); n != 42 || err != nil {
			t.Errorf("the call returned %d, %v", n, err)
		}
		for _, subject := range []string{"job.a", "$JS.API.STREAM.DELETE.JOBS"} {
			if err := caller.Publish(g, subject, nil); err != nil {
				return err
			}
			if err, _, _ := rondo.Receive(g, refused); !errors.Is(err, natsgo.ErrPermissionViolation) {
				t.Errorf("a caller may publish %s: %v", subject, err)
			}
		}
		js, err := jetStream(connect("admin"))
		if err != nil {
			return err
		}
		err = rondo.OffloadFunc(g, func(ctx context.Context) error {
			if _, err := js.CreateStream(context.Background(), jetstream.StreamConfig{Name: "JOBS", Subjects: []string{"job.>"}}); err != nil {
				return err
			}
			if _, err := js.CreateConsumer(context.Background(), "JOBS", jetstream.ConsumerConfig{Durable: "workers"}); err != nil {
				return err
			}
			if _, err := js.CreateStream(context.Background(), jetstream.StreamConfig{Name: "DEAD", Subjects: []string{"dead"}}); err != nil {
				return err
			}
			_, err := js.CreateKeyValue(context.Background(), jetstream.KeyValueConfig{Bucket: "returned"})
			return err
		})
		if err != nil {
			return err
		}
		producing, err := jetStream(connect("producer"))
		if err != nil {
			return err
		}
		if err := nats.Enqueue(g, producing, "job.a", "1", []byte("work")); err != nil {
			return err
		}
		jobs := connect("jobs")
		working, err := jetStream(jobs)
		if err != nil {
			return err
		}
		consumer, err := rondo.Offload(g, func(context.Context) (jetstream.Consumer, error) {
			return working.Consumer(context.Background(), "JOBS", "workers")
		})
		if err != nil {
			return err
		}
		text := ""
		at := &site{Conn: jobs, js: js, consumer: consumer}
		err = at.stops(g, new(nats.Worker), func(_ context.Context, m jetstream.Msg, stop func()) error {
			text = string(m.Data())
			stop()
			return nil
		})
		if text != "work" {
			t.Errorf("the job is %q, %v", text, err)
		}
		return errors.Join(err, buryWithRights(g, at, working, producing))
	})
}

// buryWithRights gives a job back, which is counted, and then buries it.
func buryWithRights(g *rondo.Scope, s *site, working, producing jetstream.JetStream) error {
	returned, err := rondo.Offload(g, func(context.Context) (jetstream.KeyValue, error) {
		return working.KeyValue(context.Background(), "returned")
	})
	if err != nil {
		return err
	}
	w := &nats.Worker{Conn: s.Conn, DeadLetters: "dead", MaxAttempts: 1, Returned: returned}
	if err := nats.Enqueue(g, producing, "job.a", "2", []byte("more")); err != nil {
		return err
	}
	err = s.stops(g, w, func(ctx context.Context, _ jetstream.Msg, stop func()) error {
		stop()
		return rondo.Sleep(ctx, time.Hour)
	})
	if err := errors.Join(err, s.count(g, "KV_returned", 1)); err != nil {
		return err
	}
	err = w.Work(g, s.consumer, 1, func(context.Context, jetstream.Msg) error { return errors.New("failed") })
	return errors.Join(err, s.count(g, "DEAD", 1))
}

// TestAccounts: an account sees nothing of another, but what that exports; a call crosses to
// an exported function, and its heartbeats and its answer come back.
func TestAccounts(t *testing.T) {
	t.Parallel()
	shop, stock := server.NewAccount("SHOP"), server.NewAccount("STOCK")
	o := server.Options{
		Accounts: []*server.Account{shop, stock},
		Users:    []*server.User{{Username: "shop", Password: "pw", Account: shop}, {Username: "stock", Password: "pw", Account: stock}},
	}
	if err := stock.AddServiceExportWithResponse("count", server.Streamed, nil); err != nil {
		t.Fatal(err)
	}
	if err := shop.AddServiceImport(stock, "count", "count"); err != nil {
		t.Fatal(err)
	}
	run(t, o, func(g *rondo.Scope, url string) error {
		worker := connect(t, g, url, natsgo.UserInfo("stock", "pw"))
		for _, name := range []string{"count", "private"} {
			err := nats.Serve(g, worker, name, 1, func(ctx context.Context, n int) (int, error) {
				return n + 1, rondo.Sleep(ctx, 700*time.Millisecond) // a heartbeat comes before the answer
			})
			if err != nil {
				return err
			}
		}
		if err := worker.Flush(g); err != nil {
			return err
		}
		caller := connect(t, g, url, natsgo.UserInfo("shop", "pw"))
		if n, err := nats.Call[int, int](g, caller, "count", 1); n != 2 || err != nil {
			t.Errorf("a call of what is exported returned %d, %v", n, err)
		}
		if _, err := nats.Call[int, int](g, caller, "private", 1); !errors.Is(err, nats.ErrNoWorker) {
			t.Errorf("a call of what is not exported returned %v", err)
		}
		return nil
	})
}

// TestCallBeforeServer: a call without a connection is not sent, which its error says; one that
// waits for the connection is.
func TestCallBeforeServer(t *testing.T) {
	t.Parallel()
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		worker := connect(t, g, url)
		err := nats.Serve(g, worker, "double", 1, func(_ context.Context, n int) (int, error) { return 2 * n, nil })
		if err := errors.Join(err, worker.Flush(g)); err != nil {
			return err
		}
		gate, err := newGate(strings.TrimPrefix(url, "nats://"))
		if err != nil {
			return err
		}
		defer gate.close()
		c := connect(t, g, "nats://"+gate.Addr().String(), natsgo.RetryOnFailedConnect(true), natsgo.ReconnectWait(10*time.Millisecond))
		_, err = nats.Call[int, int](g, c, "double", 1)
		if !errors.Is(err, nats.ErrNoWorker) || !errors.Is(err, natsgo.ErrDisconnected) || errors.Is(err, nats.ErrLost) {
			t.Errorf("without a server Call returned %v", err)
		}
		call := g.Go(func(ctx context.Context) error {
			for {
				n, err := nats.Call[int, int](ctx, c, "double", 21)
				if !errors.Is(err, nats.ErrNoWorker) { // the machine is slow
					return errors.Join(err, equal(n, 42))
				}
			}
		})
		for call.Info().Waiting != "nats connection" && !call.Done() {
			if err := rondo.Yield(g); err != nil {
				return err
			}
		}
		gate.open.Store(true)
		return call.Wait(g)
	})
}

func equal(got, want int) error {
	if got != want {
		return fmt.Errorf("got %d, want %d", got, want)
	}
	return nil
}

// A gate is the address of a server. Until it is open it cuts each connection.
type gate struct {
	net.Listener
	open atomic.Bool
	all  sync.WaitGroup
}

func newGate(server string) (*gate, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	gt := &gate{Listener: l}
	gt.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			gt.all.Go(func() { gt.serve(c, server) })
		}
	})
	return gt, nil
}

func (gt *gate) serve(c net.Conn, server string) {
	defer c.Close()
	if !gt.open.Load() {
		return
	}
	s, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer s.Close()
	gt.all.Go(func() {
		_, _ = io.Copy(c, s)
		c.Close()
	})
	_, _ = io.Copy(s, c)
}

// close stops listening. The connections end with those of the client.
func (gt *gate) close() { gt.Listener.Close() }
