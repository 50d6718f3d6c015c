//go:build unix

package main

// An audit by ledger: brokers, workers, producers and visitors, of which brokers and workers are
// killed, ended, stopped and cut off at random.

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/nats/embed"
)

var farmTime = flag.Duration("farm", 2*time.Second, "how long TestFarm kills and stops processes")

const size = 3 // brokers, and workers

// TestMain is a broker or a worker if the environment says so.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("FARM_ROLE") == "program" {
		main()
		return
	}
	role := map[string]func(ctx context.Context) error{"broker": broker, "worker": worker, "try": try}[os.Getenv("FARM_ROLE")]
	if role == nil {
		os.Exit(m.Run())
	}
	err := plugIn()
	if err == nil {
		err = role(context.Background())
	}
	if err != nil && !errors.As(err, new(rondo.SignalError)) {
		fmt.Fprintln(os.Stderr, os.Getenv("FARM_ROLE"), err)
		os.Exit(1)
	}
}

// TestEnd: the program ends with status 0 when it is asked to, also while it connects.
func TestEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := exec.CommandContext(t.Context(), os.Args[0], "-brokers=nats://"+l.Addr().String(), "-ledger="+filepath.Join(t.TempDir(), "ledger"))
	c.Env = append(os.Environ(), "FARM_ROLE=program")
	var log strings.Builder
	c.Stderr = &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	broker, err := l.Accept() // it catches signals before it connects
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &log)
	}
}

// try fails if the process may not make networks.
func try(context.Context) error { return bridge() }

// worker runs the program, as soon as the brokers answer.
func worker(ctx context.Context) error {
	*brokers, *ledger, *front, *probes = os.Getenv("FARM_BROKERS"), os.Getenv("FARM_LEDGER"), os.Getenv("FARM_HTTP"), "127.0.0.1:0"
	return run(ctx)
}

// broker is a node of a cluster of brokers.
func broker(ctx context.Context) error {
	var self, port int
	var hosts, routes [size]string
	if _, err := fmt.Sscan(os.Getenv("FARM_BROKER"), &self, &port, &hosts[0], &hosts[1], &hosts[2], &routes[0], &routes[1], &routes[2]); err != nil {
		return err
	}
	o := server.Options{
		Host: hosts[self], Port: port, ServerName: fmt.Sprint("broker", self), NoLog: true, JetStream: true, StoreDir: os.Getenv("FARM_STORE"),
	}
	o.Cluster.Name, o.Cluster.Host = "farm", hosts[self]
	for i, route := range routes {
		if i != self {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: route})
			continue
		}
		if _, err := fmt.Sscan(route[strings.LastIndex(route, ":")+1:], &o.Cluster.Port); err != nil {
			return err
		}
	}
	r := rondo.Runner{Interrupt: true}
	return r.Run(ctx, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			if _, err := embed.Start(g, &o); err != nil {
				return err
			}
			return rondo.WaitCanceled(g)
		})
	})
}

// A process is a broker or a worker, which is started again when it has ended.
type process struct {
	*exec.Cmd
	environment []string
	cable       *cable
	address     string        // of its HTTP; a worker's
	ended       chan struct{} // closed when the process has ended
	harmed      bool          // it is being harmed
	harms       int           // how often it was, or has ended by itself
	whole       bool          // it has answered since then
}

func (p *process) start(ctx context.Context) error {
	c, err := beside(ctx, p.launch)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	p.Cmd, p.ended = c, ended
	go func() {
		_ = c.Wait() // it was killed, or there was no broker
		close(ended)
	}()
	return nil
}

// launch may block.
func (p *process) launch() (*exec.Cmd, error) {
	c := exec.Command(os.Args[0])
	c.Env, c.Stderr = append(os.Environ(), p.environment...), os.Stderr
	if os.Getenv("FARM_LOG") == "" {
		c.Stderr = io.Discard
	}
	return c, p.cable.start(c)
}

// beside calls fn on a goroutine, also when ctx is cancelled.
func beside[T any](ctx context.Context, fn func() (T, error)) (v T, err error) {
	err = rondo.Shield(ctx, func(ctx context.Context) (err error) {
		v, err = rondo.Offload(ctx, func(context.Context) (T, error) { return fn() })
		return err
	})
	return v, err
}

// gone reports whether the process has ended.
func (p *process) gone() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// revive starts the process again if it has ended, as a worker does that finds no broker.
func (p *process) revive(ctx context.Context) error {
	if !p.gone() {
		return nil
	}
	p.harms, p.whole = p.harms+1, false
	return p.start(ctx)
}

// A farm is all processes of a test, and what its clients know.
type farm struct {
	all    []*process // the brokers first
	urls   string
	dir    string
	jobs   []string       // that are stored
	visits visits         // of workers that were whole
	counts map[string]int // harms, by kind
	over   bool           // the clients are to end
}

func newFarm(t *testing.T) *farm {
	f := &farm{dir: t.TempDir(), counts: make(map[string]int)}
	first := 21000 + os.Getpid()%800*10 // not among the ports of outgoing connections
	for !free(first) {
		first += 10
	}
	all, hosts, err := cables(2 * size)
	if err != nil {
		t.Fatal(err)
	}
	var addresses, routes []string
	for i := range size {
		addresses = append(addresses, fmt.Sprintf("nats://%s:%d", hosts[i], first+i))
		routes = append(routes, fmt.Sprintf("%s:%d", hosts[i], first+size+i))
	}
	f.urls = strings.Join(addresses, ",")
	for i := range size {
		f.all = append(f.all, &process{cable: all[i], environment: []string{
			"FARM_ROLE=broker", fmt.Sprint("FARM_BROKER=", i, " ", first+i, " ", strings.Join(append(hosts[:size:size], routes...), " ")),
			"FARM_STORE=" + filepath.Join(f.dir, fmt.Sprint("store", i)),
		}})
	}
	for i := range size {
		address := fmt.Sprintf("%s:%d", hosts[size+i], first+2*size+i)
		f.all = append(f.all, &process{cable: all[size+i], address: "http://" + address, environment: []string{
			"FARM_ROLE=worker", "FARM_BROKERS=" + f.urls, "FARM_HTTP=" + address, "FARM_LEDGER=" + filepath.Join(f.dir, fmt.Sprint("ledger", i)),
		}})
	}
	t.Cleanup(func() {
		for _, p := range f.all {
			if p.ended != nil {
				_ = p.Process.Kill()
				<-p.ended
			}
		}
	})
	return f
}

// free reports whether nobody listens on the ports from first on.
func free(first int) bool {
	for port := first; port < first+3*size; port++ {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// harm kills, ends, stops or cuts off a process for a while, and has it run again.
func (f *farm) harm(ctx context.Context, r *rand.Rand) error {
	p := f.all[r.IntN(len(f.all))]
	ways := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGSTOP, 0}
	if p.cable == nil {
		ways = ways[:3]
	}
	how := ways[r.IntN(len(ways))]
	what := how.String()
	if how == 0 {
		what = "cut off"
	}
	f.counts[p.environment[0][len("FARM_ROLE="):]+" "+what]++
	p.harms, p.harmed, p.whole = p.harms+1, true, false
	defer func() { p.harmed = false }()
	some := func(most time.Duration) error {
		return rondo.Sleep(ctx, time.Duration(r.Int64N(int64(min(most, *farmTime)))))
	}
	if how == 0 {
		if p.gone() {
			return nil
		}
		name, err := beside(ctx, p.cable.cut)
		err = errors.Join(err, some(8*time.Second))
		_, mended := beside(ctx, func() (string, error) { return p.cable.mend(name) })
		return errors.Join(err, mended)
	}
	if err := p.Process.Signal(how); errors.Is(err, os.ErrProcessDone) {
		return p.revive(ctx)
	} else if err != nil {
		return err
	}
	if how == syscall.SIGSTOP {
		err := some(3 * time.Second)
		if again := p.Process.Signal(syscall.SIGCONT); !errors.Is(again, os.ErrProcessDone) {
			err = errors.Join(err, again)
		}
		return err
	}
	_, _, err := rondo.Receive(ctx, p.ended)
	return errors.Join(err, some(500*time.Millisecond), p.start(ctx))
}

// until calls fn until it succeeds. The brokers may choose a leader meanwhile.
func until(ctx context.Context, fn func(ctx context.Context) error) error {
	for {
		err := rondo.Timeout(ctx, 5*time.Second, fn)
		if err == nil {
			return nil
		}
		if stop := rondo.Sleep(ctx, 50*time.Millisecond); stop != nil {
			return errors.Join(stop, err)
		}
	}
}

// prepare makes the streams, of which each broker has a copy.
func prepare(ctx context.Context, js jetstream.JetStream) error {
	return until(ctx, func(ctx context.Context) error {
		return rondo.OffloadFunc(ctx, func(ctx context.Context) error {
			_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "DEAD", Subjects: []string{"dead"}, Replicas: size})
			if err == nil {
				_, err = js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "returned", TTL: time.Hour, Replicas: size})
			}
			if err == nil {
				_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "JOBS", Subjects: []string{"job"}, Retention: jetstream.WorkQueuePolicy, Replicas: size})
			}
			if err == nil {
				_, err = js.CreateOrUpdateConsumer(ctx, "JOBS", jetstream.ConsumerConfig{Durable: "workers", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 5 * time.Second})
			}
			return err
		})
	})
}

// stored returns how many messages a stream has.
func stored(ctx context.Context, js jetstream.JetStream, stream string) (n uint64, err error) {
	err = until(ctx, func(ctx context.Context) error {
		return rondo.OffloadFunc(ctx, func(ctx context.Context) error {
			s, err := js.Stream(ctx, stream)
			if err == nil {
				n = s.CachedInfo().State.Msgs
			}
			return err
		})
	})
	return n, err
}

// audit harms processes while clients have jobs stored and ask the workers, and waits until no job
// is left.
func (f *farm) audit(g *rondo.Scope, js jetstream.JetStream, r *rand.Rand) error {
	clients := make([]*rondo.Task, 2*size)
	for i, p := range f.all[size:] {
		c := httptask.Client(g)
		defer c.CloseIdleConnections()
		clients[i] = g.Go(func(ctx context.Context) error { return f.visit(ctx, p, c) })
		clients[size+i] = g.Go(func(ctx context.Context) error { return f.produce(ctx, i, c) })
	}
	for end := time.Now().Add(*farmTime); time.Now().Before(end) || len(f.jobs) == 0; {
		if err := errors.Join(f.harm(g, r), rondo.Sleep(g, time.Duration(r.IntN(1500))*time.Millisecond)); err != nil {
			return err
		}
		for _, p := range f.all {
			if err := p.revive(g); err != nil {
				return err
			}
		}
	}
	f.over = true
	for left := uint64(1); left > 0; {
		busy := uint64(0)
		for _, c := range clients {
			if !c.Done() {
				busy++ // it may have a job stored yet, after those that are counted now
			}
		}
		var err error
		if left, err = stored(g, js, "JOBS"); err != nil {
			return err
		}
		left += busy
		for _, p := range f.all {
			err = errors.Join(err, p.revive(g))
		}
		if err := errors.Join(err, rondo.Sleep(g, 50*time.Millisecond)); err != nil {
			return err
		}
	}
	return nil
}

// TestFarm is an audit: while brokers and workers are killed, ended, stopped and cut off, producers
// have jobs stored. Each that was stored is done or is a dead letter; none is done more often than
// harms can explain; and a worker that is not harmed answers.
func TestFarm(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts six processes, and takes ten seconds")
	}
	if inHub(t) {
		return
	}
	f := newFarm(t)
	seed := uint64(time.Now().UnixNano())
	var dead uint64
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) (err error) {
			for _, p := range f.all[:size] {
				if err := p.start(g); err != nil {
					return err
				}
			}
			c, err := nats.Connect(g, f.urls, natsgo.RetryOnFailedConnect(true), natsgo.ReconnectWait(50*time.Millisecond), natsgo.ErrorHandler(func(*natsgo.Conn, *natsgo.Subscription, error) {}))
			if err != nil {
				return err
			}
			js, err := jetstream.New(c.NC())
			if err := errors.Join(err, prepare(g, js)); err != nil {
				return err
			}
			for _, p := range f.all[size:] {
				if err := p.start(g); err != nil {
					return err
				}
			}
			if err := f.audit(g, js, rand.New(rand.NewPCG(seed, 0))); err != nil {
				return err
			}
			dead, err = stored(g, js, "DEAD")
			g.Cancel(nil)
			return err
		})
	})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	f.judge(t, seed, int(dead))
}

// judge compares the jobs that were stored with the ledgers.
func (f *farm) judge(t *testing.T, seed uint64, dead int) {
	const underWay = 2 * 10 * size // jobs at most: what one harm can repeat
	done := f.read(t)
	missing, again, harms := 0, 0, 0
	for _, id := range f.jobs {
		n := done[id]
		if n == 0 {
			missing++
		}
		again += max(n-1, 0)
	}
	for _, n := range f.counts {
		harms += n
	}
	v := &f.visits
	t.Logf("seed %d, %v: %d harms, %v", seed, *farmTime, harms, f.counts)
	t.Logf("%d jobs, %d missing in the ledgers, %d dead letters, %d done again", len(f.jobs), missing, dead, again)
	t.Logf("workers that were not harmed: %d answers without a broker, p50 %v, p99 %v, longest %v, %d failed; "+
		"%d calls by NATS, p50 %v, p99 %v, longest %v, %d refused or lost",
		len(v.here), percentile(v.here, .5), percentile(v.here, .99), percentile(v.here, 1), len(v.failed),
		len(v.double), percentile(v.double, .5), percentile(v.double, .99), percentile(v.double, 1), v.refused)
	if missing > dead {
		t.Errorf("%d jobs are lost", missing-dead)
	}
	if again > harms*underWay {
		t.Errorf("%d jobs were done again after %d harms", again, harms)
	}
	for _, err := range v.failed[:min(len(v.failed), 5)] {
		t.Errorf("a worker that was not harmed: %v", err)
	}
}

// read returns how often each job is in the ledgers.
func (f *farm) read(t *testing.T) map[string]int {
	done := make(map[string]int)
	names, err := filepath.Glob(filepath.Join(f.dir, "ledger*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for s := bufio.NewScanner(file); s.Scan(); {
			done[s.Text()]++
		}
	}
	return done
}
