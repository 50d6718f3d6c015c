//go:build unix

package main

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
	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/nats/embed"
)

var farmTime = flag.Duration("farm", 2*time.Second, "how long TestFarm kills and stops processes")

const size = 3 // brokers, and workers

// TestMain is a broker or a worker if the environment says so.
func TestMain(m *testing.M) {
	flag.Parse()
	role := map[string]func(ctx context.Context) error{"broker": broker, "worker": worker}[os.Getenv("FARM_ROLE")]
	if role == nil {
		os.Exit(m.Run())
	}
	if err := role(context.Background()); err != nil && !errors.As(err, new(*rondo.SignalError)) {
		fmt.Fprintln(os.Stderr, os.Getenv("FARM_ROLE"), err)
		os.Exit(1)
	}
}

// worker runs the program, as soon as the brokers answer.
func worker(ctx context.Context) error {
	*brokers, *ledger, *probes = os.Getenv("FARM_BROKERS"), os.Getenv("FARM_LEDGER"), "127.0.0.1:0"
	return run(ctx)
}

// broker is a node of a cluster of brokers.
func broker(ctx context.Context) error {
	var o server.Options
	var routes [size]int
	var self int
	if _, err := fmt.Sscan(os.Getenv("FARM_BROKER"), &self, &o.Port, &routes[0], &routes[1], &routes[2]); err != nil {
		return err
	}
	o.Host, o.ServerName, o.NoLog, o.JetStream, o.StoreDir = "127.0.0.1", fmt.Sprint("broker", self), true, true, os.Getenv("FARM_STORE")
	o.Cluster.Name, o.Cluster.Host, o.Cluster.Port = "farm", "127.0.0.1", routes[self]
	for i, port := range routes {
		if i != self {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", port)})
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
	ended       chan struct{} // closed when the process has ended
}

func (p *process) start() error {
	p.Cmd = exec.Command(os.Args[0])
	p.Env, p.Stderr = append(os.Environ(), p.environment...), os.Stderr
	if os.Getenv("FARM_LOG") == "" {
		p.Stderr = io.Discard
	}
	if err := p.Start(); err != nil {
		return err
	}
	ended, c := make(chan struct{}), p.Cmd
	p.ended = ended
	go func() {
		_ = c.Wait() // it was killed, or there was no broker
		close(ended)
	}()
	return nil
}

// revive starts the process again if it has ended, as a worker does that finds no broker.
func (p *process) revive() error {
	select {
	case <-p.ended:
		return p.start()
	default:
		return nil
	}
}

// A farm is all processes of a test.
type farm struct {
	all  []*process // the brokers first
	urls string
	dir  string
}

func newFarm(t *testing.T) *farm {
	f := &farm{dir: t.TempDir()}
	first := 21000 + os.Getpid()%800*10 // not among the ports of outgoing connections
	for !free(first) {
		first += 10
	}
	var addresses []string
	for i := range size {
		addresses = append(addresses, fmt.Sprint("nats://127.0.0.1:", first+i))
	}
	f.urls = strings.Join(addresses, ",")
	for i := range size {
		f.all = append(f.all, &process{environment: []string{
			"FARM_ROLE=broker", fmt.Sprintf("FARM_BROKER=%d %d %d %d %d", i, first+i, first+3, first+4, first+5),
			"FARM_STORE=" + filepath.Join(f.dir, fmt.Sprint("store", i)),
		}})
	}
	for i := range size {
		f.all = append(f.all, &process{environment: []string{
			"FARM_ROLE=worker", "FARM_BROKERS=" + f.urls, "FARM_LEDGER=" + filepath.Join(f.dir, fmt.Sprint("ledger", i)),
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

// free reports whether nobody listens on the ports of the brokers from first on.
func free(first int) bool {
	for port := first; port < first+2*size; port++ {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// harm kills, ends or stops a process, and has it run again.
func (f *farm) harm(ctx context.Context, r *rand.Rand, counts map[string]int) error {
	i := r.IntN(len(f.all))
	p := f.all[i]
	signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGSTOP}
	how := signals[r.IntN(len(signals))]
	counts[fmt.Sprint(p.environment[0][len("FARM_ROLE="):], " ", how)]++
	if err := p.Process.Signal(how); errors.Is(err, os.ErrProcessDone) {
		return p.revive()
	} else if err != nil {
		return err
	}
	if how == syscall.SIGSTOP {
		err := rondo.Sleep(ctx, time.Duration(r.IntN(3000))*time.Millisecond)
		if again := p.Process.Signal(syscall.SIGCONT); !errors.Is(again, os.ErrProcessDone) {
			err = errors.Join(err, again)
		}
		return err
	}
	_, _, err := rondo.Receive(ctx, p.ended)
	return errors.Join(err, rondo.Sleep(ctx, time.Duration(r.IntN(500))*time.Millisecond), p.start())
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

// audit enqueues jobs while it harms processes, and waits until no job is left. It returns how many
// there were.
func (f *farm) audit(g *rondo.Scope, js jetstream.JetStream, r *rand.Rand, counts map[string]int) (jobs int, err error) {
	over := false
	producer := g.Go(func(ctx context.Context) error {
		for ; !over; jobs++ {
			id := fmt.Sprint(jobs)
			err := until(ctx, func(ctx context.Context) error { return nats.Enqueue(ctx, js, "job", id, []byte(id)) })
			if err := errors.Join(err, rondo.Sleep(ctx, time.Millisecond)); err != nil {
				return err
			}
		}
		return nil
	})
	for end := time.Now().Add(*farmTime); time.Now().Before(end); {
		if err := errors.Join(f.harm(g, r, counts), rondo.Sleep(g, time.Duration(r.IntN(1500))*time.Millisecond)); err != nil {
			return jobs, err
		}
	}
	over = true
	if err := producer.Wait(g); err != nil {
		return jobs, err
	}
	for left := uint64(1); left > 0; {
		if left, err = stored(g, js, "JOBS"); err != nil {
			return jobs, err
		}
		for _, p := range f.all {
			if err := p.revive(); err != nil {
				return jobs, err
			}
		}
		if err := rondo.Sleep(g, 50*time.Millisecond); err != nil {
			return jobs, err
		}
	}
	return jobs, nil
}

// TestFarm is an audit by ledger: while brokers and workers are killed, ended and stopped at
// random, a producer enqueues jobs. Each job that was stored is done or is a dead letter.
func TestFarm(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts six processes, and takes ten seconds")
	}
	f := newFarm(t)
	seed := uint64(time.Now().UnixNano())
	r, counts, jobs := rand.New(rand.NewPCG(seed, 0)), make(map[string]int), 0
	var dead uint64
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for _, p := range f.all[:size] {
				if err := p.start(); err != nil {
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
				if err := p.start(); err != nil {
					return err
				}
			}
			if jobs, err = f.audit(g, js, r, counts); err != nil {
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
	done := f.read(t)
	missing, again := 0, 0
	for i := range jobs {
		switch n := done[fmt.Sprint(i)]; {
		case n == 0:
			missing++
		case n > 1:
			again++
		}
	}
	t.Logf("seed %d, %v: %v; %d jobs, %d missing in the ledgers, %d dead letters, %d done more than once", seed, *farmTime, counts, jobs, missing, dead, again)
	if missing > int(dead) || jobs == 0 {
		t.Errorf("%d jobs are lost", missing-int(dead))
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
