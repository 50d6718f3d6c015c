package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/internal/linear"
	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// operation is what a client asked of the register: to write a value, or to read.
type operation struct {
	Write string // "": a read
}

// model is the register.
var model = linear.Model[string, operation, string]{
	Step: func(before string, in operation, out string, known bool) (after string, ok bool) {
		if in.Write != "" {
			return in.Write, true
		}
		return before, !known || out == before
	},
}

// story runs five replicas and three clients on hosts of their own until the faults have
// ended, and then demands that the register works.
func story(t testing.TB) func(ctx context.Context, w *sim.World) {
	return func(ctx context.Context, w *sim.World) {
		var history sim.History[operation, string]
		var addresses []string
		for i := range 5 {
			name := fmt.Sprint("replica", i)
			addresses = append(addresses, name+":7000")
			w.Host(name, func(ctx context.Context) error {
				for {
					if err := serve(ctx, ":7000", "/data"); err == nil || rondo.Check(ctx) != nil {
						return err
					}
					// Its disk fails: something starts it again.
					if err := rondo.Sleep(ctx, time.Second); err != nil {
						return err
					}
				}
			})
		}
		done := 0
		for i := range 3 {
			w.Host(fmt.Sprint("client", i), func(ctx context.Context) error {
				life, err := countLife(ctx)
				if err != nil {
					return rondo.Sleep(ctx, time.Hour) // its disk fails
				}
				c := &client{name: fmt.Sprintf("client%d-%d", i, life), replicas: addresses, patience: 2 * time.Second}
				for n := 0; n < 10 && history.Len() < 60; n++ {
					value := fmt.Sprint(c.name, ".", n)
					if sim.Choose(ctx, 3) == 0 {
						o := history.Begin(ctx, operation{Write: value})
						if err := c.write(ctx, value); err != nil {
							o.Unknown() // it may be written later
						} else {
							o.End("")
						}
					} else {
						o := history.Begin(ctx, operation{})
						if got, err := c.read(ctx); err != nil {
							o.Discard() // a read changes nothing
						} else {
							o.End(got)
						}
					}
					if err := rondo.Sleep(ctx, time.Duration(sim.Choose(ctx, 10)*sim.Choose(ctx, 10))*5*time.Millisecond); err != nil {
						return err
					}
				}
				done++
				return nil
			})
		}
		_ = w.Eventually(ctx, time.Minute, func() bool { return done == 3 }) // a client may be down for long
		w.Calm()
		c := &client{name: "test", replicas: addresses, patience: time.Minute}
		o := history.Begin(ctx, operation{})
		value, err := c.read(ctx)
		if err != nil {
			t.Errorf("the register does not work again: %v", err)
			return
		}
		o.End(value)
		model.Check(t, slices.Collect(history.All()))
	}
}

// countLife returns which life of a client this is, from its disk.
func countLife(ctx context.Context) (int, error) {
	text, err := loadFile(sim.Disk(ctx), "/life")
	if err != nil {
		return 0, err
	}
	life, _ := strconv.Atoi(text) // "" is 0
	return life + 1, storeFile(sim.Disk(ctx), "/", "life", fmt.Sprint(life+1))
}

// faults are what the hosts suffer.
var faults = sim.Faults{Partition: 1, Crash: 0.3, PowerFail: 2, Pause: 1, ClockSkew: 0.5, Disk: 0.1}

// TestRegister has every read return what was written last, in seeds with and without
// faults.
func TestRegister(t *testing.T) {
	c := sim.Config{Seeds: 40, SeedsShort: 3, Faults: faults}
	c.Cluster(t, story(t))
}

// TestNumbers: a write that has failed has used its number up, also if no majority knows of
// it.
func TestNumbers(t *testing.T) {
	sim.Config{Seeds: 20}.Cluster(t, func(ctx context.Context, w *sim.World) {
		values := make(map[tag]string) // what was to be stored
		for i := range 3 {
			w.Host(fmt.Sprint("replica", i), func(ctx context.Context) error {
				l, err := socket.Listen(ctx, "tcp", ":7000")
				if err != nil {
					return err
				}
				return (&socket.Server{OnError: quiet, Handler: func(_ context.Context, c net.Conn) error {
					in := bufio.NewScanner(c)
					for in.Scan() {
						text, put := strings.CutPrefix(in.Text(), "put ")
						if !put {
							fmt.Fprintln(c, record{tag: tag{writer: "-"}})
							continue
						}
						one, err := parse(text)
						if old, ok := values[one.tag]; err != nil || ok && old != one.value {
							t.Errorf("%v stands for %q and %q: %v", one.tag, old, one.value, err)
						}
						values[one.tag] = one.value // and no answer
					}
					return nil
				}}).Serve(ctx, l)
			})
		}
		c := &client{name: "c", replicas: []string{"replica0:7000", "replica1:7000", "replica2:7000"}, patience: 5 * time.Second}
		for _, value := range []string{"one", "two"} {
			if err := c.write(ctx, value); err == nil {
				t.Error("a write that nobody has confirmed succeeds")
			}
		}
		if len(values) != 2 {
			t.Errorf("the replicas got %v", values)
		}
	})
}
