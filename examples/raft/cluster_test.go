package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/internal/linear"
	"github.com/rondo-go/rondo/sim"
)

// faults are what the servers' hosts suffer, besides what strike does.
var faults = sim.Faults{Partition: 0.5, Crash: 0.5, PowerFail: 1, Pause: 0.5, ClockSkew: 0.2, Disk: 0.1}

// TestCluster has what the paper promises hold after each event, and every client see
// one store that does one command after the other.
func TestCluster(t *testing.T) {
	sim.Config{Seeds: 20, SeedsShort: 2, Faults: faults}.Cluster(t, story(t))
}

// A cluster is one run of the test.
type cluster struct {
	testing.TB
	world    *sim.World
	watcher  *watcher
	hosts    []*sim.Host
	peers    []string
	percents int // how much the times until an election differ, at most
	history  sim.History[operation, string]
}

// story runs three or five servers on hosts of their own and three clients on the host
// "test" until the clients have ended or for 30 s. Then there are no more faults, and the
// service has to work again.
func story(t testing.TB) func(ctx context.Context, w *sim.World) {
	return func(ctx context.Context, w *sim.World) {
		servers := []int{3, 3, 5}[sim.Choose(ctx, 3)]
		most := []int{1, 64}[sim.Choose(ctx, 2)]
		c := &cluster{TB: t, world: w, watcher: newWatcher(servers), percents: []int{100, 10}[sim.Choose(ctx, 2)]}
		w.Invariant("raft", c.watcher.check)
		for id := 1; id <= servers; id++ {
			c.peers = append(c.peers, fmt.Sprintf("server%d:7200", id))
		}
		for id := 1; id <= servers; id++ {
			c.hosts = append(c.hosts, w.Host(fmt.Sprint("server", id), func(ctx context.Context) error {
				return c.server(ctx, config{id: id, peers: c.peers, folder: "/data", most: most})
			}))
		}
		switch sim.Choose(ctx, 4) {
		case 1:
			rondo.Go(ctx, c.depose)
		case 2, 3:
			rondo.Go(ctx, c.strike)
		}
		done := 0
		for i := range 3 {
			rondo.Go(ctx, func(ctx context.Context) error {
				defer func() { done++ }()
				return c.client(ctx, fmt.Sprint("client", i+1))
			})
		}
		ended := func() bool { return done == 3 }
		_ = w.Eventually(ctx, 30*time.Second, ended) // if they have not, they go on
		w.Calm()
		if err := w.Eventually(ctx, 5*time.Minute, ended); err != nil {
			t.Errorf("the clients do not end: %v", err)
			return
		}
		c.finish(ctx)
	}
}

// server is the program of a host. It starts the server again when its disk has failed.
func (c *cluster) server(ctx context.Context, one config) error {
	one.random = func(n int) int { return sim.Choose(ctx, min(n, c.percents)) }
	one.logf = func(string, ...any) {}
	for {
		n, err := openNode(ctx, one)
		if err == nil {
			c.watcher.nodes[one.id-1] = n
			err = n.serve(ctx)
		}
		if err == nil || rondo.Check(ctx) != nil {
			return err
		}
		if err := rondo.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// strike strikes a server when it has just voted or won, and a leader that commits, which
// faults by rate seldom do.
func (c *cluster) strike(ctx context.Context) error {
	type moment struct {
		term, vote int
		leads      bool
		commits    int // a part of those of a leader
	}
	last := make([]moment, len(c.hosts))
	for range rondo.Every(ctx, 10*time.Millisecond) {
		for i, n := range c.watcher.nodes {
			if n == nil {
				continue
			}
			now := moment{term: n.term, vote: n.vote, leads: n.leading != nil}
			if now.leads {
				now.commits = n.commit / 8
			}
			if now == last[i] || n.vote == 0 {
				continue
			}
			last[i] = now
			host, others := c.hosts[i], slices.Delete(slices.Clone(c.hosts), i, i+1)
			switch sim.Choose(ctx, 8) {
			case 1, 2:
				host.PowerFail()
				host.Restart()
			case 3:
				host.Crash()
				host.Restart()
			case 4, 5: // it reaches one of the others, or none
				if k := sim.Choose(ctx, 2*len(others)); k < len(others) {
					others = slices.Delete(others, k, k+1)
				}
				c.world.Partition(others, []*sim.Host{host})
			case 6, 7:
				c.world.Heal()
			}
		}
	}
	return nil
}

// depose cuts the leader off from the other servers for three seconds, again and again.
// Clients still reach it.
func (c *cluster) depose(ctx context.Context) error {
	for range rondo.Every(ctx, 3*time.Second) {
		c.world.Heal()
		var leader *node
		for _, n := range c.watcher.nodes {
			if n != nil && n.leading != nil && (leader == nil || n.term > leader.term) {
				leader = n
			}
		}
		if leader != nil {
			host := c.hosts[leader.id-1]
			c.world.Partition(slices.DeleteFunc(slices.Clone(c.hosts), func(h *sim.Host) bool { return h == host }), []*sim.Host{host})
		}
	}
	return nil
}

// client does twenty operations.
func (c *cluster) client(ctx context.Context, name string) error {
	one := newClient(name, c.peers)
	defer one.close()
	kinds := [][]string{{"get"}, {"append", "set"}, {"get", "append", "set"}}[sim.Choose(ctx, 3)]
	for n := range 20 {
		in := operation{Do: kinds[sim.Choose(ctx, len(kinds))], Value: fmt.Sprint(name, ".", n, " ")}
		_ = rondo.Timeout(ctx, 5*time.Second, func(ctx context.Context) error { return c.try(ctx, one, in) })
		pause := time.Duration(sim.Choose(ctx, 10)*sim.Choose(ctx, 10)) * 20 * time.Millisecond
		if err := rondo.Sleep(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}

// An operation is what a client asks for. All have the same key.
type operation struct{ Do, Value string }

// try has a client do an operation, and records it.
func (c *cluster) try(ctx context.Context, one *client, in operation) error {
	const key = "a"
	o := c.history.Begin(ctx, in)
	if in.Do == "get" {
		out, err := one.get(ctx, key)
		if err != nil {
			o.Discard() // it has changed nothing
		} else {
			o.End(out)
		}
		return err
	}
	change := one.set
	if in.Do == "append" {
		change = one.append
	}
	out, err := change(ctx, key, in.Value)
	if err != nil {
		o.Unknown() // it may be done later
	} else {
		o.End(out)
	}
	return err
}

// model is one key of the store.
var model = linear.Model[string, operation, string]{
	Step: func(before string, in operation, out string, known bool) (after string, ok bool) {
		switch after = before; in.Do {
		case "set":
			after = in.Value
		case "append":
			after += in.Value
		}
		return after, !known || out == after
	},
}

// finish reads once more, and fails the test if no order of the operations explains what
// the clients saw.
func (c *cluster) finish(ctx context.Context) {
	last := newClient("last", c.peers)
	defer last.close()
	if err := rondo.Timeout(ctx, time.Minute, func(ctx context.Context) error {
		return c.try(ctx, last, operation{Do: "get"})
	}); err != nil {
		c.Errorf("the service does not work again: %v", err)
		return
	}
	sim.Sometimes(ctx, len(c.watcher.leaders) > 5, "there are more than five leaders")
	model.Check(c, c.operations())
}

// operations returns what the clients did. It leaves out what has no answer and was never
// seen, because the history is right with it if it is right without it.
func (c *cluster) operations() (ops []*sim.Op[operation, string]) {
	var seen strings.Builder
	for o := range c.history.All() {
		if o.Returned != sim.Pending {
			seen.WriteString(o.Out)
		}
	}
	for o := range c.history.All() {
		if o.Returned != sim.Pending || strings.Contains(seen.String(), o.In.Value) {
			ops = append(ops, o)
		}
	}
	return ops
}
