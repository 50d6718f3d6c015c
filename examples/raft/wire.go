package main

// This file has what is sent between servers, and between them and clients: JSON, one
// request and one reply after the other.

import (
	"context"
	"encoding/json"
	"net"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// A request has one of these.
type request struct {
	Ballot  *ballot  `json:",omitempty"`
	Batch   *batch   `json:",omitempty"`
	Command *command `json:",omitempty"`
}

// A ballot asks for a vote.
type ballot struct {
	Term      int
	Candidate int
	Last      int // the index of the candidate's last entry
	LastTerm  int // the term of it
}

// A batch has entries of the leader's log, or none, if it only says that there is a
// leader.
type batch struct {
	Term     int
	Leader   int
	Before   int // the index of the entry before the first
	TermThen int // the term of that one
	Entries  []entry
	Commit   int // up to which index the leader's log is committed
}

// A reply is to any request.
type reply struct {
	OK     bool
	Term   int    `json:",omitempty"` // of the server; not for clients
	Last   int    `json:",omitempty"` // to a batch: up to which index the logs may be the same
	Leader int    `json:",omitempty"` // to a command: who is the leader; 0: not known
	Value  string `json:",omitempty"` // to a command: the value that the key has now
}

// A link is a connection to a server, which is made when it is needed. It serves one
// task.
type link struct {
	address string
	conn    net.Conn // nil: there is none
	in      *json.Decoder
}

// ask sends a request and waits for the reply. If it fails, the request may have been
// received all the same.
func (l *link) ask(ctx context.Context, patience time.Duration, q request) (a reply, err error) {
	err = rondo.Timeout(ctx, patience, func(ctx context.Context) error {
		if l.conn == nil {
			c, err := socket.Dial(ctx, "tcp", l.address)
			if err != nil {
				return err
			}
			l.conn, l.in = c, json.NewDecoder(c)
		}
		if err := json.NewEncoder(l.conn).Encode(q); err != nil {
			return err
		}
		return l.in.Decode(&a)
	})
	if err != nil {
		l.close() // or the next request would get the reply to this one
	}
	return a, err
}

// close closes the connection, if there is one.
func (l *link) close() {
	if l.conn != nil {
		_ = l.conn.Close()
		l.conn = nil
	}
}
