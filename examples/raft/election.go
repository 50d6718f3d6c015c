package main

// A server without a leader waits for one, or stands for election.

import (
	"context"
	"time"

	"github.com/rondo-go/rondo"
)

// timeout returns a time that is another one each time, so that two servers seldom
// begin an election at once.
func (n *node) timeout() time.Duration {
	return electionTimeout + electionTimeout*time.Duration(n.random(100))/100
}

// follow returns when nothing was heard of a leader for some time.
func (n *node) follow(ctx context.Context) error {
	for heard := -1; heard != n.heard; {
		heard = n.heard
		if err := rondo.Sleep(ctx, n.timeout()); err != nil {
			return err
		}
	}
	return nil
}

// campaign begins a term, and asks all servers for their vote. It reports whether a
// majority has given it.
func (n *node) campaign(ctx context.Context) (won bool, err error) {
	if err := n.begin(n.term+1, n.id); err != nil {
		return false, err
	}
	n.leader = 0
	term, votes := n.term, 1
	last, lastTerm := n.last()
	q := request{RequestVote: &requestVote{Term: term, Candidate: n.id, Last: last, LastTerm: lastTerm}}
	over := func() bool { return n.term != term || n.leader != 0 || votes >= n.majority() }
	err = rondo.Timeout(ctx, n.timeout(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			defer g.Cancel(nil)
			for i, address := range n.peers {
				if i+1 == n.id {
					continue
				}
				g.Go(func(ctx context.Context) error {
					granted, err := n.askForVote(ctx, address, q)
					if granted {
						votes++
						n.changed.WakeAll()
					}
					return err
				})
			}
			return n.until(g, "votes", over)
		})
	})
	if err != nil && !rondo.TimedOut(ctx, err) {
		return false, err
	}
	return n.term == term && n.leader == 0 && votes >= n.majority(), nil
}

// askForVote asks one server for its vote until it has answered.
func (n *node) askForVote(ctx context.Context, address string, q request) (granted bool, err error) {
	l := &link{address: address}
	defer l.close()
	for {
		a, err := l.ask(ctx, electionTimeout, q)
		if err == nil {
			return a.OK, n.see(a.Term)
		}
		if err := rondo.Sleep(ctx, heartbeat); err != nil {
			return false, err
		}
	}
}

// onRequestVote answers a candidate. A server gives one vote in a term, and only to a
// candidate whose log has all that its own has, so that a leader has all that is
// committed.
func (n *node) onRequestVote(v requestVote) (reply, error) {
	if err := n.see(v.Term); err != nil {
		return reply{}, err
	}
	last, lastTerm := n.last()
	behind := v.LastTerm < lastTerm || v.LastTerm == lastTerm && v.Last < last
	if v.Term < n.term || behind || n.vote != 0 && n.vote != v.Candidate {
		return reply{Term: n.term}, nil
	}
	if err := n.begin(v.Term, v.Candidate); err != nil {
		return reply{}, err
	}
	n.heard++
	return reply{OK: true, Term: n.term}, nil
}
