//go:build unix

package embed_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
)

func init() { roles["worker"] = workerRole }

// patient are the options of a client that waits for its server as long as it takes.
func patient() []natsgo.Option {
	return []natsgo.Option{natsgo.MaxReconnects(-1), natsgo.ReconnectWait(50 * time.Millisecond), natsgo.RetryOnFailedConnect(true)}
}

// workerRole serves calls and does jobs. It notes each in a file before it answers.
func workerRole(ctx context.Context) error {
	file, err := os.OpenFile(os.Getenv("RONDO_NATS_FILE"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	note := func(ctx context.Context, what, id string) error {
		return rondo.OffloadFunc(ctx, func(context.Context) error {
			_, err := fmt.Fprintln(file, what, id)
			return err
		})
	}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		c, err := nats.Connect(g, os.Getenv("RONDO_NATS_URL"), patient()...)
		if err != nil {
			return err
		}
		_, consumer, err := stream(g, c, time.Second)
		if err != nil {
			return err
		}
		err = nats.Serve(g, c, "square", 4, func(ctx context.Context, n int) (int, error) {
			if err := note(ctx, "call", fmt.Sprint(n)); err != nil {
				return 0, err
			}
			return n * n, rondo.Sleep(ctx, 2*time.Millisecond)
		})
		if err != nil {
			return err
		}
		err = nats.Work(g, consumer, 4, func(ctx context.Context, m jetstream.Msg) error {
			if err := rondo.Sleep(ctx, 2*time.Millisecond); err != nil {
				return err
			}
			return note(ctx, "job", string(m.Data()))
		})
		if err != nil {
			return err
		}
		if err := c.Flush(g); err != nil {
			return err
		}
		fmt.Println("ready")
		if err := untilInputEnds(g); err != nil {
			return err
		}
		g.Cancel(nil)
		return nil
	})
}

// freePort returns a port outside the range from which the system takes those of
// outgoing connections, so that a server that is started again finds it free.
func freePort(t *testing.T) string {
	for port := 21000 + os.Getpid()%8000; port < 32000; port++ {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			l.Close()
			return fmt.Sprint(port)
		}
	}
	t.Fatal("no port is free")
	return ""
}

// TestKill: a server, two workers and a caller are processes. A worker is killed at a
// quarter of the calls, the server at three quarters, and started again. Each call is
// answered once, or reported as lost or not run; none runs twice. Each job that was stored
// is done.
func TestKill(t *testing.T) {
	discardLogs(t)
	const calls, jobs, callers = 1200, 400, 16
	dir, port := t.TempDir(), freePort(t)
	startServer := func() *peer {
		return start(t, "server", "RONDO_NATS_PORT="+port, "RONDO_NATS_STORE="+filepath.Join(dir, "store"))
	}
	server := startServer()
	url := server.must(t, "ready")
	var workers []*peer
	for i := range 2 {
		w := start(t, "worker", "RONDO_NATS_URL="+url, "RONDO_NATS_FILE="+filepath.Join(dir, fmt.Sprint("worker", i)))
		w.must(t, "ready")
		workers = append(workers, w)
	}
	answered, lost, refused := 0, 0, 0
	var slowest time.Duration
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			c, err := nats.Connect(g, url, patient()...)
			if err != nil {
				return err
			}
			js, err := jetstream.New(c.NC())
			if err != nil {
				return err
			}
			next := 0
			call := func(ctx context.Context) error {
				for next < calls {
					n := next
					next++
					switch n {
					case calls / 4:
						workers[0].kill()
					case 3 * calls / 4:
						server.kill()
						server = startServer()
						if err := rondo.OffloadFunc(ctx, func(context.Context) error { _, err := server.line("ready"); return err }); err != nil {
							return err
						}
					}
					begun := time.Now()
					square, err := nats.Call[int, int](ctx, c, "square", n)
					switch {
					case err == nil && square == n*n:
						answered++
					case errors.Is(err, nats.ErrLost):
						lost++
						slowest = max(slowest, time.Since(begun))
					case errors.Is(err, nats.ErrNoWorker), errors.Is(err, nats.ErrRefused):
						refused++
						if err := rondo.Sleep(ctx, 20*time.Millisecond); err != nil {
							return err
						}
					default:
						return fmt.Errorf("call %d: %d, %w", n, square, err)
					}
				}
				return nil
			}
			enqueue := func(ctx context.Context) error {
				for i := range jobs {
					id := fmt.Sprint(i)
					for {
						err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error { return nats.Enqueue(ctx, js, "job.k", id, []byte(id)) })
						if err == nil {
							break
						}
						if err := errors.Join(rondo.Check(ctx), rondo.Sleep(ctx, 20*time.Millisecond)); err != nil {
							return err
						}
					}
				}
				return nil
			}
			err = rondo.Group(g, func(g *rondo.Scope) error {
				for range callers {
					g.Go(call)
				}
				g.Go(enqueue)
				return nil
			})
			if err != nil {
				return err
			}
			for stored := uint64(1); stored > 0; {
				if stored, err = left(g, js); err != nil {
					return err
				}
				if err := rondo.Sleep(g, 20*time.Millisecond); err != nil {
					return err
				}
			}
			g.Cancel(nil)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("calls: %d answered, %d lost, %d not run; the slowest report of a loss took %v", answered, lost, refused, slowest)
	if answered+lost+refused != calls || answered == 0 {
		t.Errorf("%d of %d calls are accounted for", answered+lost+refused, calls)
	}
	runs := readNotes(t, dir)
	for n, times := range runs["call"] {
		if times > 1 {
			t.Errorf("call %s ran %d times", n, times)
		}
	}
	if ran := len(runs["call"]); ran < answered || ran > answered+lost {
		t.Errorf("%d calls ran, of which %d were answered and %d lost", ran, answered, lost)
	}
	again := 0
	for i := range jobs {
		switch times := runs["job"][fmt.Sprint(i)]; {
		case times == 0:
			t.Errorf("job %d is lost", i)
		case times > 1:
			again++
		}
	}
	t.Logf("jobs: 0 of %d may be lost; %d ran more than once", jobs, again)
}

// readNotes returns how often the workers have run each call and each job.
func readNotes(t *testing.T, dir string) map[string]map[string]int {
	runs := map[string]map[string]int{"call": {}, "job": {}}
	files, err := filepath.Glob(filepath.Join(dir, "worker*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("the workers' files: %v, %v", files, err)
	}
	slices.Sort(files)
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			what, id, _ := strings.Cut(s.Text(), " ")
			runs[what][id]++
		}
	}
	return runs
}
