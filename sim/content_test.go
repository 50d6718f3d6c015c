package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestContentIsCompared: two runs of a seed that write or hand over other bytes of the same
// number are not the same, and the report says which.
func TestContentIsCompared(t *testing.T) {
	other := func() []byte { return fmt.Appendf(nil, "%08x", rand.Uint32()) }
	cluster := func(body func(ctx context.Context, w *sim.World) error) func(t *tester) {
		return func(t *tester) {
			sim.Cluster(t, func(ctx context.Context, w *sim.World) {
				if err := body(ctx, w); err != nil {
					t.Error(err)
				}
			})
		}
	}
	alone := func(body func(ctx context.Context) error) func(t *tester) {
		return func(t *tester) {
			sim.Test(t, func(ctx context.Context) {
				if err := body(ctx); err != nil {
					t.Error(err)
				}
			})
		}
	}
	write := func(ctx context.Context) error {
		f, err := sim.Disk(ctx).OpenFile("log", os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.Write(other())
		}
		return err
	}
	for name, c := range map[string]struct {
		test func(t *tester)
		want string
	}{
		"disk of a host": {cluster(func(ctx context.Context, w *sim.World) error {
			w.Host("server", write)
			return rondo.Sleep(ctx, time.Minute)
		}), `both times host 2 wrote 8 bytes to "log" after`},
		"disk":  {alone(write), `both times host 0 wrote 8 bytes to "log" after 0s, but not with the same content: the second time it is "`},
		"place": {alone(writeAt), `both times host 0 wrote 1 bytes to "log" after 0s`},
		"queue": {alone(func(ctx context.Context) error {
			return rondo.NewQueue[string](0).Put(ctx, string(other()))
		}), "both times a value was put into a queue after 0s, but not with the same content"},
		"map order": {alone(func(ctx context.Context) error {
			type entry struct{ key [1]int }
			q := rondo.NewQueue[entry](0)
			for k := range map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true, 10: true} {
				if !q.TryPut(entry{[1]int{k}}) {
					return rondo.ErrQueueClosed
				}
			}
			return nil
		}), "the second time it is \"a sim_test.entry\""},
	} {
		t.Run(name, func(t *testing.T) {
			contains(t, failing(t, c.test), "is not deterministic: at event ", c.want, "usual causes: the order of a map")
		})
	}
}

// writeAt writes a byte at a place that no seed repeats.
func writeAt(ctx context.Context) error {
	f, err := sim.Disk(ctx).OpenFile("log", os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteAt([]byte{0}, rand.Int64N(1e6))
	}
	return err
}

// TestContentWithoutAddresses: what stands behind pointers, in maps and in functions is not
// compared, nor is a time: it is another one in each run of a program that is right.
func TestContentWithoutAddresses(t *testing.T) {
	type job struct {
		name string
		done *int
		fn   func()
		set  map[int]int
		came time.Time
		any
	}
	sim.Test(t, func(ctx context.Context) {
		q := rondo.NewQueue[job](0)
		n := rand.Int()
		one := job{"a", &n, func() {}, map[int]int{n: n}, time.Now(), &n}
		if err := q.Put(ctx, one); err != nil {
			t.Error(err)
		}
	})
}
