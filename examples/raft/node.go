package main

// A node is a server. It follows a leader, is a candidate or leads, and answers requests
// meanwhile.
//
// The law: the tasks of all connections share the node without a lock, because no method
// that changes it waits. Where a task does wait, it asks again afterwards whether the
// term is still the same.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

const (
	heartbeat       = 100 * time.Millisecond // how long a leader is silent, at most
	electionTimeout = 4 * heartbeat          // after how long without a leader there is an election, at least
)

// A config says which server a node is.
type config struct {
	id     int      // from 1 on
	peers  []string // the addresses of all servers, in the same order everywhere
	folder string
	most   int             // how many entries a message has, at most
	random func(n int) int // a number below n
	logf   func(format string, args ...any)
}

type node struct {
	config
	*journal
	store   *store
	commit  int            // up to which index the log is committed and applied
	leader  int            // of this term; 0: not known
	heard   int            // how often a leader or a candidate was worth waiting for
	leading *leadership    // nil: it does not lead
	changed rondo.WaitList // those that wait for any change of this
}

// openNode reads what the server stored in its last life.
func openNode(ctx context.Context, c config) (*node, error) {
	j, err := openJournal(ctx, c.folder, fmt.Sprintf("raft-%d.journal", c.id))
	if err != nil {
		return nil, err
	}
	return &node{config: c, journal: j, store: newStore()}, nil
}

// serve serves until a signal ends it, or its disk fails.
func (n *node) serve(ctx context.Context) error {
	defer n.file.Close()
	l, err := socket.Listen(ctx, "tcp", n.peers[n.id-1])
	if err != nil {
		return err
	}
	n.logf("server %d listens on %v", n.id, l.Addr())
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(n.run)
		s := &socket.Server{OnError: quiet, Handler: func(ctx context.Context, c net.Conn) error {
			err := n.handle(ctx, c)
			if n.err != nil {
				g.Cancel(n.err) // without its journal the server must not say another word
			}
			return err
		}}
		err := signals.Serve(g, s, l, 0)
		g.Cancel(err)
		return err
	})
}

// quiet drops errors of connections: who asked asks again.
func quiet(net.Conn, error) {}

// A role is what a server is in a term, for the picture of a failed test.
type role struct {
	name string
	term int
}

func (r role) String() string { return fmt.Sprintf("%s of term %d", r.name, r.term) }

// run is the life of a server.
func (n *node) run(ctx context.Context) error {
	for {
		sim.Show(ctx, "role", role{"follower", n.term})
		if err := n.follow(ctx); err != nil {
			return err
		}
		sim.Show(ctx, "role", role{"candidate", n.term + 1})
		won, err := n.campaign(ctx)
		if err == nil && won {
			err = n.lead(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// handle answers the requests of one connection.
func (n *node) handle(ctx context.Context, c net.Conn) error {
	in, out := json.NewDecoder(c), json.NewEncoder(c)
	for {
		var q request
		if err := in.Decode(&q); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		a, err := n.answer(ctx, q)
		if err != nil {
			return err
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
}

// answer returns the reply to a request.
func (n *node) answer(ctx context.Context, q request) (reply, error) {
	switch {
	case q.RequestVote != nil:
		return n.onRequestVote(*q.RequestVote)
	case q.AppendEntries != nil:
		return n.onAppendEntries(*q.AppendEntries)
	case q.Command != nil:
		return n.do(ctx, *q.Command)
	}
	return reply{}, fmt.Errorf("a request for nothing")
}

// see enters a later term, if this is one. A leader or a candidate gives up.
func (n *node) see(term int) error {
	if term <= n.term {
		return nil
	}
	if err := n.begin(term, 0); err != nil {
		return err
	}
	n.leader = 0
	n.changed.WakeAll()
	return nil
}

// onAppendEntries is what a follower does with what its leader sends.
func (n *node) onAppendEntries(b appendEntries) (reply, error) {
	if err := n.see(b.Term); err != nil {
		return reply{}, err
	}
	if b.Term < n.term {
		return reply{Term: n.term}, nil
	}
	n.leader = b.Leader
	n.heard++
	n.changed.WakeAll()
	last, _ := n.last()
	if b.PrevIndex > last || n.log[b.PrevIndex].Term != b.PrevTerm {
		return reply{Term: n.term, Last: min(last, b.PrevIndex-1)}, nil
	}
	// The request may be an old one, so what is there already stays, and what follows it.
	index, entries := b.PrevIndex, b.Entries
	for len(entries) > 0 && index < last && n.log[index+1].Term == entries[0].Term {
		index, entries = index+1, entries[1:]
	}
	if len(entries) > 0 {
		if err := n.replace(index, entries); err != nil {
			return reply{}, err
		}
	}
	index += len(entries)
	n.apply(min(b.Commit, index))
	return reply{OK: true, Term: n.term}, nil
}

// apply applies the log up to an index, which is committed.
func (n *node) apply(index int) {
	for n.commit < index {
		n.commit++
		n.store.apply(n.log[n.commit].Command)
	}
	n.changed.WakeAll()
}

// until waits until cond is true.
func (n *node) until(ctx context.Context, what string, cond func() bool) error {
	for !cond() {
		if err := n.changed.Park(ctx, rondo.Reason{What: what}); err != nil {
			return err
		}
	}
	return nil
}

// majority returns how many servers are more than half of them.
func (n *node) majority() int { return len(n.peers)/2 + 1 }
