package main

import (
	"fmt"
)

// A watcher looks at all servers after each event, and holds what the paper promises
// (its figure 3).
type watcher struct {
	nodes     []*node         // in their latest life; nil: not yet
	seen      []state         // what of them was looked at
	leaders   map[int]int     // who led, by term
	entries   map[place]entry // all entries that any server ever had
	before    map[place]int   // the terms of those before them
	committed []int           // the terms of the entries that are committed
}

// A place is that of an entry in a log.
type place struct{ index, term int }

// A state is what changes with anything that matters.
type state struct {
	node                         *node
	leading                      *leadership
	term, last, lastTerm, commit int
}

func newWatcher(servers int) *watcher {
	return &watcher{
		nodes: make([]*node, servers), seen: make([]state, servers), leaders: make(map[int]int),
		entries: make(map[place]entry), before: make(map[place]int), committed: make([]int, 1),
	}
}

// check looks at those that have changed.
func (w *watcher) check() error {
	changed := false
	for i, n := range w.nodes {
		if n == nil {
			continue
		}
		now := state{node: n, leading: n.leading, term: n.term, commit: n.commit}
		if now.last, now.lastTerm = n.last(); now == w.seen[i] {
			continue
		}
		w.seen[i], changed = now, true
		for _, check := range []func(n *node) error{w.oneLeader, w.sameLogs, w.sameCommitted} {
			if err := check(n); err != nil {
				return err
			}
		}
	}
	if !changed {
		return nil
	}
	return w.nothingLost()
}

// oneLeader holds that a term has at most one leader.
func (w *watcher) oneLeader(n *node) error {
	if n.leading == nil {
		return nil
	}
	if other, ok := w.leaders[n.leading.term]; ok && other != n.id {
		return fmt.Errorf("servers %d and %d both lead in term %d", other, n.id, n.leading.term)
	}
	w.leaders[n.leading.term] = n.id
	return nil
}

// sameLogs holds that two logs that have an entry of the same term at an index are the
// same up to there.
func (w *watcher) sameLogs(n *node) error {
	for i := 1; i < len(n.log); i++ {
		at, term := place{i, n.log[i].Term}, n.log[i-1].Term
		if old, ok := w.entries[at]; ok && (old != n.log[i] || w.before[at] != term) {
			return fmt.Errorf("server %d has %v after one of term %d at %v; another one has %v after one of term %d",
				n.id, n.log[i], term, at, old, w.before[at])
		}
		w.entries[at], w.before[at] = n.log[i], term
	}
	return nil
}

// sameCommitted holds that no two servers commit different entries at an index.
func (w *watcher) sameCommitted(n *node) error {
	for i := 1; i <= n.commit; i++ {
		if i == len(w.committed) {
			w.committed = append(w.committed, n.log[i].Term)
		}
		if n.log[i].Term != w.committed[i] {
			return fmt.Errorf("server %d commits %v at %d; one of term %d was committed", n.id, n.log[i], i, w.committed[i])
		}
	}
	return nil
}

// nothingLost holds that no server that lacks what is committed could be elected, if it
// were tried now with any majority.
func (w *watcher) nothingLost() error {
	index := len(w.committed) - 1
	for i, n := range w.nodes {
		if n == nil || index < len(n.log) && n.log[index].Term == w.committed[index] {
			continue
		}
		last, lastTerm := n.last()
		votes := 0
		for _, voter := range w.nodes {
			if voter == nil {
				votes++
				continue
			}
			if l, t := voter.last(); t < lastTerm || t == lastTerm && l <= last {
				votes++
			}
		}
		if votes >= n.majority() {
			return fmt.Errorf("server %d could be elected without the committed entry %d of term %d", i+1, index, w.committed[index])
		}
	}
	return nil
}
