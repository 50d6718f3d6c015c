package main

import "fmt"

// A command is what a client wants done.
type command struct {
	Client string `json:",omitempty"` // no two clients have the same name
	Number int    `json:",omitempty"` // of the client's commands, counted from 1
	Do     string `json:",omitempty"` // "get", "set" or "append"; "" does nothing
	Key    string `json:",omitempty"`
	Value  string `json:",omitempty"`
}

// check fails if no client of ours sends such a command.
func (c command) check() error {
	switch {
	case c.Do != "get" && c.Do != "set" && c.Do != "append":
		return fmt.Errorf("there is no command %q", c.Do)
	case c.Do != "get" && (c.Client == "" || c.Number <= 0):
		return fmt.Errorf("a command to %s has no client or no number", c.Do)
	}
	return nil
}

// A store is what the committed commands have made. All servers apply the same commands
// in the same order, so their stores go through the same states.
type store struct {
	values   map[string]string
	sessions map[string]session // by client; they are never dropped, which a larger service has to do
}

// A session is what is known of a client: its latest command, and the result of it.
type session struct {
	number int
	result string
}

func newStore() *store {
	return &store{values: make(map[string]string), sessions: make(map[string]session)}
}

// apply does a command that is committed. A client that got no answer sends its command
// again, so the log may have it twice; it is done once.
func (s *store) apply(c command) {
	if c.Do == "" || c.Number <= s.sessions[c.Client].number && !mistakes.repeatTwice {
		return
	}
	switch c.Do {
	case "set":
		s.values[c.Key] = c.Value
	case "append":
		s.values[c.Key] += c.Value
	}
	s.sessions[c.Client] = session{c.Number, s.values[c.Key]}
}
