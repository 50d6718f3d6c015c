package interop_test

// pgx in tasks, with a real PostgreSQL. A task may have a connection of its own; a
// pool must have a connection for each task that uses it.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/interop/internal/peer"
	"github.com/rondo-go/rondo/socket"
)

// connectPostgres returns a connection that belongs to the loop of ctx.
func connectPostgres(ctx context.Context, url string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.DialFunc = socketDial(ctx)
	return pgx.ConnectConfig(ctx, config)
}

// socketDial returns a dial function that always uses the loop of ctx. Libraries
// call it on goroutines and with contexts of their own.
func socketDial(ctx context.Context) func(_ context.Context, network, address string) (net.Conn, error) {
	return func(_ context.Context, network, address string) (net.Conn, error) {
		return socket.Dial(ctx, network, address)
	}
}

// withPostgres runs body with a connection.
func withPostgres(t *testing.T, url string, body func(ctx context.Context, c *pgx.Conn) error) {
	t.Helper()
	run(t, func(ctx context.Context) error {
		c, err := connectPostgres(ctx, url)
		if err != nil {
			return err
		}
		return errors.Join(body(ctx, c), c.Close(ctx))
	})
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	url := peer.Postgres(t)
	for name, test := range map[string]func(t *testing.T, url string){
		"query": postgresQuery, "batch": postgresBatch, "copy": postgresCopy, "tasks": postgresTasks,
		"cancel": postgresCancel, "pool": postgresPool, "small pool": postgresSmallPool, "slow write": postgresSlowWrite, "semaphore": postgresSemaphore, "notify": postgresNotify,
	} {
		t.Run(name, func(t *testing.T) { test(t, url) })
	}
}

// postgresQuery reads 20,000 rows, while another task has its turns.
func postgresQuery(t *testing.T, url string) {
	const n = 20_000
	withPostgres(t, url, func(ctx context.Context, c *pgx.Conn) error {
		turns, err := beats(ctx, func(ctx context.Context) error {
			rows, err := c.Query(ctx, "select i, repeat('x', 100) from generate_series(1, $1) i", n)
			if err != nil {
				return err
			}
			sum := 0
			for rows.Next() {
				var i int
				var text string
				if err := rows.Scan(&i, &text); err != nil {
					return err
				}
				sum += i * len(text) / 100
			}
			if want := n * (n + 1) / 2; sum != want {
				t.Errorf("the sum is %d, not %d", sum, want)
			}
			return rows.Err()
		})
		if turns == 0 {
			t.Error("no other task ran meanwhile")
		}
		return err
	})
}

// postgresBatch sends more than the socket buffers hold before it reads. pgx then
// reads on a goroutine while the task writes.
func postgresBatch(t *testing.T, url string) {
	const n = 3000
	withPostgres(t, url, func(ctx context.Context, c *pgx.Conn) error {
		b := new(pgx.Batch)
		for i := range n {
			b.Queue("select $1::int, repeat('y', 4000)", i)
		}
		results := c.SendBatch(ctx, b)
		for want := range n {
			var i int
			var text string
			if err := results.QueryRow().Scan(&i, &text); err != nil {
				return fmt.Errorf("result %d: %w", want, err)
			}
			if i != want || len(text) != 4000 {
				t.Errorf("result %d is %d with %d bytes", want, i, len(text))
			}
		}
		return results.Close()
	})
}

// postgresCopy: CopyFrom takes rows from this task and writes them on a goroutine.
func postgresCopy(t *testing.T, url string) {
	const n = 20_000
	withPostgres(t, url, func(ctx context.Context, c *pgx.Conn) error {
		if _, err := c.Exec(ctx, "create temporary table copied (i int, t text)"); err != nil {
			return err
		}
		copied, err := c.CopyFrom(ctx, pgx.Identifier{"copied"}, []string{"i", "t"},
			pgx.CopyFromSlice(n, func(i int) ([]any, error) { return []any{i, fmt.Sprint("row ", i)}, nil }))
		if err != nil || copied != n {
			return fmt.Errorf("%d rows of %d were copied: %w", copied, n, err)
		}
		var count, last int
		err = c.QueryRow(ctx, "select count(*), max(i) from copied where t = 'row ' || i").Scan(&count, &last)
		if count != n || last != n-1 {
			t.Errorf("there are %d rows, the last is %d", count, last)
		}
		return err
	})
}

// postgresTasks: 20 tasks wait for the server at once, each with its own
// connection.
func postgresTasks(t *testing.T, url string) {
	const tasks = 20
	var at overlap
	run(t, func(ctx context.Context) error {
		return all(ctx, tasks, func(ctx context.Context, i int) error {
			c, err := connectPostgres(ctx, url)
			if err != nil {
				return err
			}
			defer c.Close(ctx)
			defer at.enter()()
			var got int
			err = c.QueryRow(ctx, "select $1::int from pg_sleep(0.05)", i).Scan(&got)
			if got != i {
				t.Errorf("task %d got %d", i, got)
			}
			return err
		})
	})
	at.want(t, 2)
}

// postgresCancel ends waits with a Timeout of the loop, with a context of the
// standard library, and by cancelling the task.
func postgresCancel(t *testing.T, url string) {
	run(t, func(ctx context.Context) error {
		var waiting rondo.Event
		wait := func(ctx, within context.Context) error {
			c, err := connectPostgres(ctx, url)
			if err != nil {
				return err
			}
			defer c.Close(ctx) // it is lost with the wait
			if _, err := c.Exec(ctx, "listen nothing"); err != nil {
				return err
			}
			waiting.Set()
			_, err = c.WaitForNotification(within)
			return err
		}
		err := rondo.Timeout(ctx, 100*time.Millisecond, func(within context.Context) error { return wait(ctx, within) })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Timeout: %v", err)
		}
		within, stop := context.WithTimeout(ctx, 100*time.Millisecond)
		defer stop()
		turns, err := beats(ctx, func(ctx context.Context) error { return wait(ctx, within) })
		if !errors.Is(err, context.DeadlineExceeded) || turns == 0 {
			t.Errorf("context.WithTimeout: the loop had %d turns, and the error is %v", turns, err)
		}
		why := errors.New("enough")
		waiting.Clear()
		task := rondo.Go(ctx, func(within context.Context) error { return wait(ctx, within) })
		if err := waiting.Wait(ctx); err != nil {
			return err
		}
		task.Cancel(why)
		if err := task.Wait(ctx); !errors.Is(err, why) {
			t.Errorf("Cancel: %v", err)
		}
		return nil
	})
}

// In a slowConn a Write that is told to be slow lasts until another goroutine begins to
// read, and then reports that it has written.
type slowConn struct {
	net.Conn
	ctx     context.Context
	slow    bool
	read    atomic.Pointer[rondo.Future[bool]] // is set by the next Read
	written func()
}

func (c *slowConn) Read(p []byte) (int, error) {
	if read := c.read.Load(); read != nil {
		read.Set(true)
	}
	return c.Conn.Read(p)
}

func (c *slowConn) Write(p []byte) (int, error) {
	if !c.slow {
		return c.Conn.Write(p)
	}
	read := rondo.NewFuture[bool](c.ctx)
	c.read.Store(read)
	if _, err := read.Wait(c.ctx); err != nil {
		return 0, err
	}
	defer c.written()
	return c.Conn.Write(p)
}

// postgresSlowWrite shows the one trap of a task's own connection. When a Write takes
// more than 15 ms, pgx begins to read on a goroutine, because the server may be
// waiting for its answers to be read. The task then waits for that goroutine with a
// sync.Cond, and the loop stops until the answer arrives.
func postgresSlowWrite(t *testing.T, url string) {
	run(t, func(ctx context.Context) error {
		config, err := pgx.ParseConfig(url)
		if err != nil {
			return err
		}
		slow := &slowConn{ctx: ctx}
		config.DialFunc = func(_ context.Context, network, address string) (net.Conn, error) {
			c, err := socket.Dial(ctx, network, address)
			slow.Conn = c
			return slow, err
		}
		c, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			return err
		}
		defer c.Close(ctx)
		wrote, ticks := false, 0
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				for range rondo.Every(ctx, time.Millisecond) {
					ticks++
				}
				return nil
			})
			slow.slow, slow.written = true, func() { wrote, ticks = true, 0 }
			_, err := c.Exec(ctx, "select pg_sleep(0.1)")
			slow.slow = false
			// A turn that others get before some operation is one tick.
			if !wrote || ticks > 10 {
				t.Errorf("written: %v; after that another task ran %d times", wrote, ticks)
			}
			g.Cancel(nil)
			return err
		})
	})
}

// withPool runs body with a pool.
func withPool(ctx context.Context, url string, size int32, body func(ctx context.Context, pool *pgxpool.Pool) error) error {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return err
	}
	config.MaxConns = size
	config.ConnConfig.DialFunc = socketDial(ctx)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	err = body(ctx, pool)
	// Close waits for goroutines.
	_, end := rondo.Offload(ctx, func(context.Context) (struct{}, error) { pool.Close(); return struct{}{}, nil })
	return errors.Join(err, end)
}

// postgresPool: as many tasks use a pool as it has connections. The pool dials them
// on its own goroutines.
func postgresPool(t *testing.T, url string) {
	const tasks = 10
	var at overlap
	run(t, func(ctx context.Context) error {
		return withPool(ctx, url, tasks, func(ctx context.Context, pool *pgxpool.Pool) error {
			return all(ctx, tasks, func(ctx context.Context, i int) error {
				for range 20 {
					leave := at.enter()
					var got int
					if err := pool.QueryRow(ctx, "select $1::int", i).Scan(&got); err != nil || got != i {
						return fmt.Errorf("task %d got %d: %w", i, got, err)
					}
					leave()
				}
				return nil
			})
		})
	})
	at.want(t, 2)
}

// postgresSmallPool shows what a pool with fewer connections than tasks does. The
// task that finds it empty waits on a semaphore that is not Rondo's, and the loop
// stops until the ctx ends, by a timer that is not Rondo's either.
func postgresSmallPool(t *testing.T, url string) {
	run(t, func(ctx context.Context) error {
		return withPool(ctx, url, 1, func(ctx context.Context, pool *pgxpool.Pool) error {
			taken, err := pool.Acquire(ctx)
			if err != nil {
				return err
			}
			defer taken.Release()
			within, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer stop()
			turns, err := beats(ctx, func(context.Context) error { return pool.Ping(within) })
			if !errors.Is(err, context.DeadlineExceeded) || turns != 0 {
				t.Errorf("the loop had %d turns, and the error is %v", turns, err)
			}
			return nil
		})
	})
}

// postgresSemaphore limits the tasks that use the small pool with a
// rondo.Semaphore.
func postgresSemaphore(t *testing.T, url string) {
	const tasks, size = 20, 2
	var at overlap
	run(t, func(ctx context.Context) error {
		return withPool(ctx, url, size, func(ctx context.Context, pool *pgxpool.Pool) error {
			room := rondo.NewSemaphore(size)
			return all(ctx, tasks, func(ctx context.Context, i int) error {
				if err := room.Acquire(ctx); err != nil {
					return err
				}
				defer room.Release()
				defer at.enter()()
				_, err := pool.Exec(ctx, "select pg_sleep(0.005)")
				return err
			})
		})
	})
	at.want(t, size)
}

// postgresNotify: a task waits for a notification that another one sends.
func postgresNotify(t *testing.T, url string) {
	withPostgres(t, url, func(ctx context.Context, c *pgx.Conn) error {
		if _, err := c.Exec(ctx, "listen news"); err != nil {
			return err
		}
		heard := rondo.Async(ctx, func(ctx context.Context) (string, error) {
			n, err := c.WaitForNotification(ctx)
			if err != nil {
				return "", err
			}
			return n.Payload, nil
		})
		other, err := connectPostgres(ctx, url)
		if err != nil {
			return err
		}
		defer other.Close(ctx)
		if _, err := other.Exec(ctx, "notify news, 'hello'"); err != nil {
			return err
		}
		got, err := heard.Wait(ctx)
		if got != "hello" {
			t.Errorf("the notification is %q", got)
		}
		return err
	})
}
