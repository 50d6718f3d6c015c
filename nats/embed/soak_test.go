package embed_test

// A soak of everything at once: HTTP on two shards, calls and a Chan between them, jobs, calls by
// NATS, timers, offloads, clients that leave. What a round has used is free when it is over, so
// tasks, goroutines, threads, descriptors and memory are the same after many rounds.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/nats/embed"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/socket"
)

var soakFor = flag.Duration("soak", 0, "how long TestSoak works, with a row of its table each minute; 0: a few rounds")

const (
	soakClients  = 8
	soakRequests = 8 // of a client in a round
)

// A soak is the program. What is not a channel or an atomic belongs to shard 0.
type soak struct {
	url     string
	http    httptask.Server
	js      jetstream.JetStream
	done    *shard.Chan[string] // ids of jobs, from both shards
	ready   *shard.Chan[error]  // a value of each shard
	over    *shard.Chan[error]  // closed at the end
	visits  [2]int              // each belongs to its shard
	conns   [2]*nats.Conn       // the same
	address string

	requests, left, jobs, twice, lost atomic.Int64
}

// A reading is what the process has when nothing is under way.
type reading struct {
	tasks, goroutines, threads, descriptors int
	objects, heap                           uint64 // after a collection
	resident                                int    // KiB
}

func (r reading) String() string {
	return fmt.Sprintf("%5d tasks %4d goroutines %3d threads %4d descriptors %8d objects %6d KiB heap %7d KiB resident",
		r.tasks, r.goroutines, r.threads, r.descriptors, r.objects, r.heap>>10, r.resident)
}

// TestSoak: after each round nothing is left of it.
func TestSoak(t *testing.T) {
	s := &soak{done: shard.NewChan[string](8), ready: shard.NewChan[error](2), over: shard.NewChan[error](1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /work/{id}", s.serve)
	mux.HandleFunc("GET /stay", func(_ http.ResponseWriter, r *http.Request) { _ = rondo.WaitCanceled(r.Context()) })
	s.http.HTTP.Handler = mux
	dir := t.TempDir()
	r := shard.Runner{Loops: 2}
	err := r.Run(t.Context(), func(ctx context.Context, me *shard.Shard) error {
		return rondo.Group(ctx, func(outer *rondo.Scope) error {
			if me.Index() != 0 {
				return s.second(outer, me)
			}
			defer s.over.Close()
			n, err := embed.Start(outer, local(server.Options{JetStream: true, StoreDir: dir}))
			if err != nil {
				return err
			}
			s.url = n.ClientURL()
			return rondo.Group(outer, func(g *rondo.Scope) error {
				defer g.Cancel(nil)
				return s.first(g, me, t)
			})
		})
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d requests, of which %d clients left; %d jobs, %d of them twice; %d calls and jobs were repeated",
		s.requests.Load(), s.left.Load(), s.jobs.Load(), s.twice.Load(), s.lost.Load())
}

// first is shard 0: it prepares all, and drives the rounds.
func (s *soak) first(g *rondo.Scope, me *shard.Shard, t *testing.T) error {
	c := connect(t, g, s.url)
	var err error
	if s.js, err = jetStream(c); err != nil {
		return err
	}
	err = rondo.OffloadFunc(g, func(ctx context.Context) error {
		_, err := s.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: "JOBS", Subjects: []string{"job"}, Storage: jetstream.MemoryStorage, Retention: jetstream.WorkQueuePolicy, Duplicates: 10 * time.Second,
		})
		if err == nil {
			_, err = s.js.CreateConsumer(ctx, "JOBS", jetstream.ConsumerConfig{Durable: "workers", AckPolicy: jetstream.AckExplicitPolicy, MemoryStorage: true})
		}
		return err
	})
	if err := errors.Join(err, s.begin(g, me)); err != nil {
		return err
	}
	if err := s.over.Send(g, nil); err != nil { // shard 1 may begin
		return err
	}
	if err, closed := s.ready.Recv(g); err != nil || closed != nil {
		return errors.Join(err, closed)
	}
	l, err := socket.Listen(g, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.address = "http://" + l.Addr().String()
	g.Go(func(ctx context.Context) error {
		if err := new(shard.ServeConfig).ServeListener(ctx, l, &s.http); err != http.ErrServerClosed {
			return err
		}
		return nil
	})
	return cmp.Or(s.rounds(g, me, t), s.http.Shutdown(g))
}

// second is shard 1, which works and serves until shard 0 has ended.
func (s *soak) second(g *rondo.Scope, me *shard.Shard) error {
	defer g.Cancel(nil)
	if _, err := s.over.Recv(g); err != nil {
		return nil // shard 0 has failed
	}
	if err := s.ready.Send(g, s.begin(g, me)); err != nil {
		return err
	}
	_, _ = s.over.Recv(g)
	return nil
}

// begin has a shard do jobs and serve calls.
func (s *soak) begin(g *rondo.Scope, me *shard.Shard) error {
	c, err := nats.Connect(g, s.url, patient...)
	if err != nil {
		return err
	}
	s.conns[me.Index()] = c
	js, err := jetStream(c)
	if err != nil {
		return err
	}
	jobs, err := rondo.Offload(g, func(ctx context.Context) (jetstream.Consumer, error) { return js.Consumer(ctx, "JOBS", "workers") })
	if err != nil {
		return err
	}
	double := func(ctx context.Context, n int) (int, error) { return 2 * n, rondo.Sleep(ctx, time.Millisecond) }
	if err := nats.Serve(g, c, "double", 100, double); err != nil {
		return err
	}
	w := &nats.Worker{Conn: c, Backoff: func(jetstream.Msg, error) time.Duration { return time.Millisecond }}
	return errors.Join(w.Work(g, jobs, 10, s.job), c.Flush(g))
}

// job is done at the second attempt if its number ends in 7.
func (s *soak) job(ctx context.Context, m jetstream.Msg) error {
	id := string(m.Data())
	if meta, err := m.Metadata(); err == nil && meta.NumDelivered == 1 && strings.HasSuffix(id, "7") {
		return errors.New("not yet")
	}
	return errors.Join(rondo.Sleep(ctx, time.Millisecond), s.done.Send(ctx, id))
}

// serve answers a request: it uses all there is.
func (s *soak) serve(w http.ResponseWriter, r *http.Request) {
	ctx, id := r.Context(), r.PathValue("id")
	me := shard.Of(ctx)
	other := me.At(1 - me.Index())
	_, err := shard.Call(ctx, other, func(ctx context.Context) (int, error) {
		s.visits[other.Index()]++
		return s.visits[other.Index()], nil
	})
	sum := [sha256.Size]byte{}
	if err == nil {
		err = rondo.Timeout(ctx, time.Minute, func(ctx context.Context) (err error) {
			sum, err = rondo.Offload(ctx, func(context.Context) ([sha256.Size]byte, error) { return sha256.Sum256([]byte(id)), nil })
			return err
		})
	}
	n := 0
	if err == nil {
		err = s.again(ctx, func() error {
			n, err = nats.Call[int, int](ctx, s.conns[me.Index()], "double", len(id))
			return err
		})
	}
	if err == nil {
		err = s.again(ctx, func() error { return nats.Enqueue(ctx, s.js, "job", id, []byte(id)) })
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintf(w, "%x %d\n", sum, n)
}

// again calls fn until it succeeds: on a busy machine a worker or a broker may be silent for so
// long that its answer counts as lost.
func (s *soak) again(ctx context.Context, fn func() error) error {
	for {
		err := fn()
		if err == nil || rondo.Check(ctx) != nil {
			return err
		}
		s.lost.Add(1)
	}
}

// rounds drives rounds, and compares what is left after each.
func (s *soak) rounds(g *rondo.Scope, me *shard.Shard, t *testing.T) error {
	least := 9
	if testing.Short() {
		least = 6
	}
	var all []reading
	start, minute := time.Now(), time.Duration(0)
	for n := 0; n <= least || time.Since(start) < *soakFor; n++ {
		began := time.Now()
		if err := rondo.Group(g, func(g *rondo.Scope) error { return s.round(g, n) }); err != nil {
			return fmt.Errorf("round %d: %w", n, err)
		}
		if n == 0 {
			continue // it has started what is started once and stays
		}
		if err := settle(g, me, began); err != nil {
			return err
		}
		now, err := s.read(g, me)
		if err != nil {
			return err
		}
		all = append(all, now)
		if at := time.Since(start); *soakFor > 0 && at >= minute {
			t.Logf("%3.0f min %6d rounds: %v", at.Minutes(), n+1, now)
			minute += time.Minute
		}
	}
	t.Logf("after the first round: %v", all[0])
	t.Logf("after the last round:  %v", all[len(all)-1])
	return flat(all)
}

// round is the work of all clients, until its jobs are done and its connections closed.
func (s *soak) round(g *rondo.Scope, n int) error {
	client := httptask.Client(g)
	defer client.CloseIdleConnections()
	open := make(map[string]bool)
	clients := make([]*rondo.Task, soakClients)
	for i := range clients {
		for k := range soakRequests {
			open[fmt.Sprint(n, "-", i, "-", k)] = true
		}
		clients[i] = g.Go(func(ctx context.Context) error {
			for k := range soakRequests {
				if err := s.get(ctx, client, "/work/"+fmt.Sprint(n, "-", i, "-", k)); err != nil {
					return err
				}
			}
			err := rondo.Timeout(ctx, time.Millisecond, func(ctx context.Context) error { return s.get(ctx, client, "/stay") })
			if s.left.Add(1); rondo.TimedOut(ctx, err) || errors.Is(err, context.DeadlineExceeded) {
				return nil
			}
			return fmt.Errorf("a client that left got %v", err)
		})
	}
	for len(open) > 0 {
		id, err := s.done.Recv(g)
		if err != nil {
			return err
		}
		if s.jobs.Add(1); !open[id] {
			s.twice.Add(1)
		}
		delete(open, id)
	}
	for _, c := range clients {
		if err := c.Wait(g); err != nil {
			return err
		}
	}
	client.CloseIdleConnections()
	for s.http.Stats().Open > 0 {
		if err := rondo.Sleep(g, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (s *soak) get(ctx context.Context, client *http.Client, path string) error {
	req, err := http.NewRequestWithContext(ctx, "GET", s.address+path, nil)
	if err != nil {
		return err
	}
	s.requests.Add(1)
	answer, err := client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		return fmt.Errorf("%s: %s: %s", path, answer.Status, text)
	}
	return nil
}

// settle waits until no task is left that the round started: a job is acknowledged, and a handler
// ends, after its value is there. If one stays it gives up after a while, and flat decides.
func settle(ctx context.Context, me *shard.Shard, began time.Time) error {
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); {
		left := 0
		for i := range me.Len() {
			n, err := shard.Call(ctx, me.At(i), func(ctx context.Context) (n int, _ error) {
				for _, t := range rondo.Tasks(ctx) {
					if t.State != "running" && t.Age < time.Since(began) {
						n++
					}
				}
				return n, nil
			})
			if err != nil {
				return err
			}
			left += n
		}
		if left == 0 {
			return nil
		}
		if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// read reads what there is. Goroutines that have done their work may not have ended yet.
func (s *soak) read(ctx context.Context, me *shard.Shard) (r reading, err error) {
	for i := range me.Len() {
		n, err := shard.Call(ctx, me.At(i), func(ctx context.Context) (int, error) { return len(rondo.Tasks(ctx)), nil })
		if err != nil {
			return r, err
		}
		r.tasks += n
	}
	err = rondo.OffloadFunc(ctx, func(context.Context) error {
		runtime.GC()
		runtime.GC() // what lay in a pool
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		r.objects, r.heap = m.HeapObjects, m.HeapAlloc
		r.goroutines, r.descriptors = runtime.NumGoroutine(), leak.Descriptors()
		status, _ := os.ReadFile("/proc/self/status") // Linux has it
		for line := range strings.Lines(string(status)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(value, "kB")))
			switch name {
			case "Threads":
				r.threads = n
			case "VmRSS":
				r.resident = n
			}
		}
		return nil
	})
	return r, err
}

// flat returns an error if something grows: if the last third never has as little of it as the
// first third had at most.
func flat(all []reading) error {
	first, last := all[:len(all)/3], all[len(all)-len(all)/3:]
	var errs []error
	check := func(what string, spare func(n uint64) uint64, of func(r reading) uint64) {
		most, least := uint64(0), of(last[0])
		for _, r := range first {
			most = max(most, of(r))
		}
		for _, r := range last {
			least = min(least, of(r))
		}
		if least > most+spare(most) {
			errs = append(errs, fmt.Errorf("%s grow: %d at most in the first third of the rounds, %d at least in the last", what, most, least))
		}
	}
	none := func(uint64) uint64 { return 0 }
	workers := func(uint64) uint64 { return 2 * 32 } // a loop makes so many at once, and keeps them for a while
	check("tasks", none, func(r reading) uint64 { return uint64(r.tasks) })
	check("goroutines", workers, func(r reading) uint64 { return uint64(r.goroutines) })
	check("descriptors", none, func(r reading) uint64 { return uint64(r.descriptors) })
	check("objects on the heap", func(n uint64) uint64 { return n / 4 }, func(r reading) uint64 { return r.objects })
	return errors.Join(errs...)
}
