package interop_test

// go-redis in tasks, with a real server.
//
// The client's pool must have a connection for each task that uses it at once, or a
// rondo.Semaphore must limit the tasks: a task that waits for the pool waits on a
// channel, and stops the loop whose tasks would return the connections. Its
// maintenance notifications must be off: they hold a sync.RWMutex while they talk to
// the server.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/interop/internal/peer"
	"github.com/rondo-go/rondo/socket"
)

// redisOptions are the options of a client whose connections belong to the loop of
// ctx.
func redisOptions(ctx context.Context, path string, size int) *redis.Options {
	return &redis.Options{
		Network: "unix", Addr: path, PoolSize: size,
		// go-redis dials on its own goroutines, with its own ctx.
		Dialer: func(_ context.Context, network, address string) (net.Conn, error) {
			return socket.Dial(ctx, network, address)
		},
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// withRedis runs body with a client of the server at path.
func withRedis(t *testing.T, path string, size int, body func(ctx context.Context, client *redis.Client) error) {
	t.Helper()
	run(t, func(ctx context.Context) error {
		client := redis.NewClient(redisOptions(ctx, path, size))
		return errors.Join(body(ctx, client), client.Close())
	})
}

func TestRedis(t *testing.T) {
	t.Parallel()
	path := peer.Redis(t)
	for name, test := range map[string]func(t *testing.T, path string){
		"tasks": redisTasks, "pipeline": redisPipeline, "publish": redisPublish, "channel": redisChannel,
		"small pool": redisSmallPool, "semaphore": redisSemaphore, "dial": redisDial,
		"timeout": redisTimeout,
	} {
		t.Run(name, func(t *testing.T) { test(t, path) })
	}
}

// redisTasks: many tasks set and get, each on its own connection.
func redisTasks(t *testing.T, path string) {
	const tasks, rounds = 50, 20
	var at overlap
	withRedis(t, path, tasks, func(ctx context.Context, client *redis.Client) error {
		return all(ctx, tasks, func(ctx context.Context, i int) error {
			for r := range rounds {
				leave := at.enter()
				key, want := fmt.Sprintf("task:%d", i), strconv.Itoa(r)
				if err := client.Set(ctx, key, want, 0).Err(); err != nil {
					return err
				}
				got, err := client.Get(ctx, key).Result()
				if err != nil || got != want {
					return fmt.Errorf("%s is %q, not %q: %w", key, got, want, err)
				}
				leave()
			}
			return nil
		})
	})
	at.want(t, tasks)
}

// redisPipeline sends a thousand commands at once, one of which is slow, and a
// transaction.
func redisPipeline(t *testing.T, path string) {
	const n = 1000
	withRedis(t, path, 1, func(ctx context.Context, client *redis.Client) error {
		turns, err := beats(ctx, func(ctx context.Context) error {
			replies, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
				for range n {
					p.Incr(ctx, "pipeline")
				}
				p.Do(ctx, "wait", 1, 20) // ms, for a replica that there is not
				return nil
			})
			if err != nil {
				return err
			}
			for i, r := range replies[:n] {
				if got := r.(*redis.IntCmd).Val(); got != int64(i+1) {
					t.Errorf("reply %d is %d", i, got)
				}
			}
			_, err = client.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Del(ctx, "pipeline")
				p.Exists(ctx, "pipeline")
				return nil
			})
			return err
		})
		if turns == 0 {
			t.Error("no other task ran meanwhile")
		}
		return err
	})
}

// redisPublish: a task waits in ReceiveMessage.
func redisPublish(t *testing.T, path string) {
	withRedis(t, path, 2, func(ctx context.Context, client *redis.Client) error {
		s := client.Subscribe(ctx, "news")
		defer s.Close()
		if _, err := s.Receive(ctx); err != nil { // the subscription
			return err
		}
		heard := rondo.Async(ctx, func(ctx context.Context) (string, error) {
			m, err := s.ReceiveMessage(ctx)
			if err != nil {
				return "", err
			}
			return m.Payload, nil
		})
		// The other task waits in ReceiveMessage, and this one can go on.
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		if n, err := client.Publish(ctx, "news", "hello").Result(); err != nil || n != 1 {
			return fmt.Errorf("%d subscribers got the message: %w", n, err)
		}
		if got, err := heard.Wait(ctx); err != nil || got != "hello" {
			return fmt.Errorf("the message is %q: %w", got, err)
		}
		return nil
	})
}

// redisChannel: a task takes messages from the Go channel of a subscription. A task
// must not wait on a channel; a function in Offload may.
func redisChannel(t *testing.T, path string) {
	withRedis(t, path, 2, func(ctx context.Context, client *redis.Client) error {
		s := client.Subscribe(ctx, "sport")
		defer s.Close()
		if _, err := s.Receive(ctx); err != nil {
			return err
		}
		messages := s.Channel()
		for i := range 10 {
			want := strconv.Itoa(i)
			if err := client.Publish(ctx, "sport", want).Err(); err != nil {
				return err
			}
			m, err := rondo.Offload(ctx, func(context.Context) (*redis.Message, error) { return <-messages, nil })
			if err != nil || m.Payload != want {
				return fmt.Errorf("the message is %v, not %s: %w", m, want, err)
			}
		}
		return nil
	})
}

// redisSmallPool shows what a pool with fewer connections than tasks does: the task
// that finds it empty stops the loop until the pool gives up.
func redisSmallPool(t *testing.T, path string) {
	run(t, func(ctx context.Context) error {
		options := redisOptions(ctx, path, 1)
		options.PoolTimeout = 50 * time.Millisecond
		client := redis.NewClient(options)
		defer client.Close()
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			var waiting rondo.Event
			g.Go(func(ctx context.Context) error {
				waiting.Set()
				return client.BLPop(ctx, 10*time.Second, "empty").Err()
			})
			if err := waiting.Wait(g); err != nil {
				return err
			}
			turns, err := beats(g, func(ctx context.Context) error { return client.Ping(ctx).Err() })
			if !errors.Is(err, redis.ErrPoolTimeout) || turns != 0 {
				t.Errorf("the loop had %d turns, and the error is %v", turns, err)
			}
			g.Cancel(nil)
			return nil
		})
	})
}

// redisSemaphore limits the tasks that use the small pool with a rondo.Semaphore.
// Tasks wait for that, and never for the pool.
func redisSemaphore(t *testing.T, path string) {
	const tasks, size = 20, 2
	var at overlap
	withRedis(t, path, size, func(ctx context.Context, client *redis.Client) error {
		room := rondo.NewSemaphore(size)
		return all(ctx, tasks, func(ctx context.Context, i int) error {
			if err := room.Acquire(ctx); err != nil {
				return err
			}
			defer room.Release()
			defer at.enter()()
			return client.Wait(ctx, 1, time.Millisecond).Err()
		})
	})
	at.want(t, size)
}

// redisDial shows that a task that needs a new connection waits on a channel for the
// goroutine that dials.
func redisDial(t *testing.T, path string) {
	run(t, func(ctx context.Context) error {
		options := redisOptions(ctx, path, 1)
		down := errors.New("down")
		options.Dialer = func(context.Context, string, string) (net.Conn, error) {
			<-time.After(20 * time.Millisecond)
			return nil, down
		}
		options.MaxRetries, options.DialerRetries = -1, 1
		client := redis.NewClient(options)
		defer client.Close()
		turns, err := beats(ctx, func(ctx context.Context) error { return client.Ping(ctx).Err() })
		if !errors.Is(err, down) || turns != 0 {
			t.Errorf("the loop had %d turns, and the error is %v", turns, err)
		}
		return nil
	})
}

// redisTimeout: a scope ends a command that waits, because the connection's Read
// runs in the scope of the task that reads.
func redisTimeout(t *testing.T, path string) {
	withRedis(t, path, 2, func(ctx context.Context, client *redis.Client) error {
		err := rondo.Timeout(ctx, 20*time.Millisecond, func(ctx context.Context) error {
			return client.BLPop(ctx, 0, "never").Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("BLPop ended with %v", err)
		}
		return client.Ping(ctx).Err()
	})
}
