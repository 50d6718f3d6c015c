package main

// The messages between servers, and between servers and clients: JSON, one request
// and one reply after the other.

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
	RequestVote   *requestVote   `json:",omitempty"`
	AppendEntries *appendEntries `json:",omitempty"`
	Command       *command       `json:",omitempty"`
}

// A requestVote is what a candidate sends.
type requestVote struct {
	Term      int
	Candidate int
	Last      int // the index of the candidate's last entry
	LastTerm  int // the term of it
}

// An appendEntries is what a leader sends: a part of its log, or nothing, if it only says
// that there is a leader.
type appendEntries struct {
	Term      int
	Leader    int
	PrevIndex int // the index of the entry before the first
	PrevTerm  int // the term of that one
	Entries   []entry
	Commit    int // up to which index the leader's log is committed
}

// A reply is to any request.
type reply struct {
	OK     bool
	Term   int    `json:",omitempty"` // of the server; not for clients
	Last   int    `json:",omitempty"` // to appendEntries: up to which index the logs may be the same
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
