package main

// The leader replicates its log and answers clients until its term ends.

import (
	"context"
	"slices"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// A leadership is the time in which a server leads.
type leadership struct {
	*node
	term  int
	match []int // for each server, up to which index its log is known to be that of the leader
	round int   // counts the reads that want to know whether it still leads
	seen  []int // for each server, the last round in which it confirmed that
}

// lead leads until the term ends.
func (n *node) lead(ctx context.Context) error {
	r := &leadership{node: n, term: n.term, match: make([]int, len(n.peers)), seen: make([]int, len(n.peers))}
	n.leader, n.leading = n.id, r
	sim.Show(ctx, "role", role{"leader", n.term})
	n.logf("server %d leads in term %d", n.id, n.term)
	defer func() { n.leading = nil }()
	// Only entries of this term can be committed by counting. This one does nothing, but
	// what is before it is committed with it.
	if _, err := r.propose(command{}); err != nil {
		return err
	}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		for i := range n.peers {
			if i+1 != n.id {
				g.Go(func(ctx context.Context) error { return r.replicate(ctx, i) })
			}
		}
		defer g.Cancel(nil)
		return n.until(g, "the end of the term", r.over)
	})
}

func (r *leadership) over() bool { return r.node.term != r.term }

// propose adds a command to the log, and returns its index.
func (r *leadership) propose(c command) (int, error) {
	last, _ := r.last()
	if err := r.replace(last, []entry{{r.term, c}}); err != nil {
		return 0, err
	}
	r.advance()
	r.changed.WakeAll()
	return last + 1, nil
}

// replicate keeps the log of another server like the leader's. If there is nothing to
// send, it sends no entries at times, so that nobody begins an election.
func (r *leadership) replicate(ctx context.Context, i int) error {
	l := &link{address: r.peers[i]}
	defer l.close()
	next, _ := r.last() // the index of the entry to send next
	for !r.over() {
		last, _ := r.last()
		b := appendEntries{Term: r.term, Leader: r.id, PrevIndex: next - 1, PrevTerm: r.log[next-1].Term, Commit: r.commit}
		// A copy, because another leader may replace these while the connection is made.
		b.Entries = slices.Clone(r.log[next:min(next+r.most, last+1)])
		round := r.round
		a, err := l.ask(ctx, electionTimeout, request{AppendEntries: &b})
		switch {
		case r.over():
			return nil
		case err != nil:
			if err := rondo.Sleep(ctx, heartbeat); err != nil {
				return err
			}
			continue
		case a.Term > r.term:
			return r.see(a.Term)
		case !a.OK:
			next = max(1, min(next-1, a.Last+1))
			continue
		}
		next += len(b.Entries)
		r.match[i], r.seen[i] = next-1, round
		r.advance()
		err = rondo.Timeout(ctx, heartbeat, func(ctx context.Context) error {
			return r.until(ctx, "something to send", func() bool { return next < len(r.log) || r.seen[i] < r.round })
		})
		if err != nil && !rondo.TimedOut(ctx, err) {
			return err
		}
	}
	return nil
}

// advance commits what a majority has.
func (r *leadership) advance() {
	r.match[r.id-1], _ = r.last()
	index := r.reached(r.match)
	// A majority may have an entry of an older term and still lose it: a server that does
	// not have it, but has a later entry, can be elected.
	if r.log[index].Term == r.term || mistakes.commitOld {
		r.apply(index)
	}
	r.changed.WakeAll()
}

// reached returns the largest number that a majority has reached.
func (r *leadership) reached(by []int) int {
	sorted := slices.Sorted(slices.Values(by))
	return sorted[len(sorted)-r.majority()]
}

// do answers a command of a client. A reply that is not OK says who may know more.
func (n *node) do(ctx context.Context, c command) (a reply, err error) {
	if err := c.check(); err != nil {
		return a, err // which closes the connection
	}
	err = rondo.Timeout(ctx, 5*time.Second, func(ctx context.Context) error {
		switch {
		case n.leading == nil || n.leading.over():
			return nil
		case c.Do == "get":
			a.Value, a.OK, err = n.leading.read(ctx, c.Key)
		default:
			a.Value, a.OK, err = n.leading.change(ctx, c)
		}
		return err
	})
	if rondo.TimedOut(ctx, err) {
		err = nil
	}
	a.Leader = n.leader
	return a, err
}

// read returns the value of a key.
func (r *leadership) read(ctx context.Context, key string) (value string, ok bool, err error) {
	// Another server may lead by now, and have a later value. So a majority is asked after
	// the read has begun: if it knows of no later term, a later value is written after that
	// too. What earlier leaders have committed is known once an entry of this term is
	// committed.
	r.round++
	r.seen[r.id-1] = r.round
	round := r.round
	r.changed.WakeAll()
	err = r.until(ctx, "a majority", func() bool {
		return r.over() || r.log[r.commit].Term == r.term && (r.reached(r.seen) >= round || mistakes.readAlone)
	})
	if err != nil || r.over() {
		return "", false, err
	}
	return r.store.values[key], true, nil
}

// change adds a command to the log, and waits until it is applied.
func (r *leadership) change(ctx context.Context, c command) (value string, ok bool, err error) {
	if s := r.store.sessions[c.Client]; c.Number == s.number && !mistakes.repeatTwice {
		return s.result, true, nil // it came again, and was applied before
	}
	index, err := r.propose(c)
	if err != nil {
		return "", false, err
	}
	err = r.until(ctx, "a majority", func() bool { return r.over() || r.commit >= index })
	if err != nil || r.over() {
		return "", false, err // nobody knows whether it will be applied
	}
	return r.store.sessions[c.Client].result, true, nil
}
