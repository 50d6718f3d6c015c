package main

// This file measures what a request costs an echo server: CPU time per request, in
// the program and in the kernel. Three servers run at the same time, each with a
// load process of its own, and get requests in turns; a server without requests
// costs nothing. Servers and loads run on different CPUs, so the load does not
// count.

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

//go:embed epoll/echo.c
var epollSource []byte

// echoRow is the row for the given number of connections.
func echoRow(conns int) row {
	name := fmt.Sprintf("echo-%d", conns)
	return row{name, func(o options) ([]result, error) { return echo(o, name, conns) }}
}

// A pair is a server and its load.
type pair struct {
	name   string
	kind   string // of load: "http", or "" for echo
	server *process
	load   *process
	costs  []float64 // CPU time per request, one a round
}

func echo(o options, name string, conns int) (found []result, err error) {
	onServer, onLoad, err := processors()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "rondo-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	servers := []func() (*process, error){
		func() (*process, error) { return startServer(onServer, o, "rondo", name) },
		func() (*process, error) { return startServer(onServer, o, "net", name) },
	}
	program, skip := compile(dir)
	if skip == nil {
		servers = append(servers, func() (*process, error) { return start(onServer, program) })
	}
	var pairs []*pair
	defer func() {
		for _, s := range pairs {
			if end := s.close(); err == nil {
				err = end
			}
		}
	}()
	for i, launch := range servers {
		s := &pair{name: []string{"rondo", "net", "epoll"}[i]}
		pairs = append(pairs, s)
		if err := s.open(launch, onLoad, conns, max(conns, o.requests/4)); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if err := ask(o, pairs); err != nil {
		return nil, err
	}
	what := fmt.Sprintf("echo of %d B, %s connections, server's CPU per request", requestSize, thousands(conns))
	found = append(found, compared(what, "net, a goroutine each", 0.92, pairs[0], pairs[1]))
	if skip != nil {
		return found, skip
	}
	return append(found, compared(what, "C, epoll", 1.15, pairs[0], pairs[2])), nil
}

// ask sends requests to the pairs in turns.
func ask(o options, pairs []*pair) error {
	for round := range o.rounds {
		for i := range pairs {
			s := pairs[(round+i)%len(pairs)]
			if err := s.round(o.requests); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return nil
}

func compared(what, rival string, budget float64, mine, theirs *pair) result {
	f := result{
		what: what, rival: rival, unit: "ns", budget: budget, allowed: unlimited,
		mine: median(mine.costs), theirs: median(theirs.costs),
	}
	for i := range mine.costs {
		f.ratios = append(f.ratios, mine.costs[i]/theirs.costs[i])
	}
	return f
}

// startServer starts this program as a server.
func startServer(processor int, o options, kind, name string, more ...string) (*process, error) {
	args := append([]string{"serve", "-kind", kind}, more...)
	if o.profile != "" {
		args = append(args, "-profile", filepath.Join(o.profile, name+"-"+kind+".cpu"))
	}
	return startSelf(processor, args...)
}

// open starts the server and its load, and sends requests to warm both up.
func (s *pair) open(launch func() (*process, error), onLoad, conns, requests int) (err error) {
	if s.server, err = launch(); err != nil {
		return err
	}
	address, err := s.server.line()
	if err != nil {
		return err
	}
	args := []string{"load", address, strconv.Itoa(conns)}
	if s.kind != "" {
		args = append(args, s.kind)
	}
	if s.load, err = startSelf(onLoad, args...); err != nil {
		return err
	}
	if _, err := s.load.line(); err != nil {
		return err
	}
	_, err = s.load.ask(strconv.Itoa(requests))
	return err
}

// round sends requests and records what one of them cost.
func (s *pair) round(requests int) error {
	before, err := s.server.number("cpu")
	if err != nil {
		return err
	}
	if _, err := s.load.ask(strconv.Itoa(requests)); err != nil {
		return err
	}
	after, err := s.server.number("cpu")
	if err != nil {
		return err
	}
	s.costs = append(s.costs, (after-before)/float64(requests))
	return nil
}

func (s *pair) close() error {
	var err error
	for _, p := range []*process{s.load, s.server} {
		if p == nil {
			continue
		}
		if end := p.Close(); err == nil {
			err = end
		}
	}
	return err
}

// compile builds the C server, if there is a compiler.
func compile(dir string) (program string, err error) {
	for _, compiler := range []string{"gcc", "cc"} {
		path, err := exec.LookPath(compiler)
		if err != nil {
			continue
		}
		source := filepath.Join(dir, "echo.c")
		if err := os.WriteFile(source, epollSource, 0o600); err != nil {
			return "", err
		}
		program := filepath.Join(dir, "echo")
		if out, err := exec.Command(path, "-O2", "-o", program, source).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w: %s", compiler, err, out)
		}
		return program, nil
	}
	return "", &skipped{"The C epoll loop is missing: this machine has no gcc or cc."}
}

// thousands writes n with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
