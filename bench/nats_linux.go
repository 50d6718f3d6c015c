package main

// Rows of package nats, the bridge to NATS, beside NATS's own client with
// goroutines. What counts is the CPU time of the client's process for a message. The server,
// the process that publishes and answers, and the two clients run at once, each
// on all CPUs, because the client has goroutines of its own in either case. The clients work
// in turns. natsclients_linux.go has the processes.

import (
	"fmt"
	"strconv"
)

// natsCallers is how many requests are on their way at once.
const natsCallers = 64

// A natsRow is a row: what a client is told to do.
type natsRow struct {
	name   string
	what   string
	rival  string
	verb   string // what the client is told, before the number
	share  int    // it is done so many times as often as a request of a server
	budget float64
	why    string
}

func natsRows() []row {
	var all []row
	for _, n := range []natsRow{
		{
			name: "nats-receive", what: "receive a message of 64 B by NATS", rival: "nats.go, a callback", verb: "receive", share: 2, budget: 1.1,
			why: "The bridge hands messages from the client's goroutine over to the loop, many at once.",
		},
		{
			name: "nats-request", what: "a request of 64 B by NATS, 64 callers at once", rival: "nats.go, goroutines", verb: "request", share: 1, budget: 0.5,
			why: "A request of the client has a channel and a timer of its own.",
		},
	} {
		all = append(all, row{name: n.name, section: messages, why: n.why, run: n.run})
	}
	return all
}

func (n natsRow) run(o options) (found []result, err error) {
	if _, _, err := processors(); err != nil {
		return nil, err
	}
	server, err := startSelf(everyProcessor, "nats-server")
	if err != nil {
		return nil, err
	}
	defer endWith(server, &err)
	url, err := server.line()
	if err != nil {
		return nil, err
	}
	peer, err := startSelf(everyProcessor, "nats-peer", url)
	if err != nil {
		return nil, err
	}
	defer endWith(peer, &err)
	if _, err := peer.line(); err != nil {
		return nil, err
	}
	var clients []*pair
	defer func() { closeAll(clients, &err) }()
	for _, kind := range []string{"tasks", "goroutines"} {
		p := &pair{name: kind, label: n.rival, costs: make(map[string][]float64)}
		if kind == "tasks" {
			p.label, p.ours = "", true
		}
		clients = append(clients, p)
		if p.server, err = startSelf(everyProcessor, "nats-client", kind, url); err != nil {
			return nil, err
		}
		if _, err := p.server.line(); err != nil {
			return nil, err
		}
		if _, err := p.server.ask(n.question(o.requests * n.share / 4)); err != nil { // warms up
			return nil, err
		}
	}
	messages := max(natsCallers, o.requests*n.share)
	if err := inTurns(o.rounds, clients, func(p *pair) error { return p.messages(n.question(messages), messages) }); err != nil {
		return nil, err
	}
	return compared(result{What: n.what, Unit: "ns"}, "cpu", clients, budgets{"": {n.rival: n.budget}}), nil
}

func (n natsRow) question(messages int) string { return n.verb + " " + strconv.Itoa(messages) }

// messages is a round: it records what a message has cost the client.
func (p *pair) messages(question string, n int) error {
	reply, took, err := p.spent(p.server, question)
	if err == nil && reply != "done" {
		err = fmt.Errorf("the client answered %q to %q", reply, question)
	}
	p.costs["cpu"] = append(p.costs["cpu"], took/float64(n))
	return err
}
