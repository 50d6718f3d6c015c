package main

// This file measures what a request costs an echo server: CPU time, in the
// program and in the kernel, per request. Three servers run at the same time,
// each with its own idle load, and take turns at being asked; a server without
// requests costs nothing. Server and load have a processor each, so a server's
// figure has nothing of its load's in it.

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

// echoRow is the row for so many connections.
func echoRow(conns int) row {
	name := fmt.Sprintf("echo-%d", conns)
	return row{name, func(o options) ([]finding, error) { return echo(o, name, conns) }}
}

// A station is a server and its load.
type station struct {
	name   string
	kind   string // of load, if it is not echo's
	server *process
	load   *process
	costs  []float64 // CPU time per request, one a round
}

func echo(o options, name string, conns int) (found []finding, err error) {
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
	var stations []*station
	defer func() {
		for _, s := range stations {
			if end := s.close(); err == nil {
				err = end
			}
		}
	}()
	for i, launch := range servers {
		s := &station{name: []string{"rondo", "net", "epoll"}[i]}
		stations = append(stations, s)
		if err := s.open(launch, onLoad, conns, max(conns, o.requests/4)); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if err := ask(o, stations); err != nil {
		return nil, err
	}
	what := fmt.Sprintf("echo of %d B, %s connections, server's CPU per request", requestSize, thousands(conns))
	found = append(found, compared(what, "net, a goroutine each", 0.92, stations[0], stations[1]))
	if skip != nil {
		return found, skip
	}
	return append(found, compared(what, "C, epoll", 1.15, stations[0], stations[2])), nil
}

// ask lets the stations take turns at being asked.
func ask(o options, stations []*station) error {
	for round := range o.rounds {
		for i := range stations {
			s := stations[(round+i)%len(stations)]
			if err := s.round(o.requests); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return nil
}

func compared(what, rival string, budget float64, mine, theirs *station) finding {
	f := finding{
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

// open starts the server and its load, and sends requests for both to be warm.
func (s *station) open(launch func() (*process, error), onLoad, conns, requests int) (err error) {
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

// round sends requests and notes what one of them cost.
func (s *station) round(requests int) error {
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

func (s *station) close() error {
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

// compile makes a program of the C server, if there is a compiler.
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
	return "", &leftOut{"The C epoll loop was left out: there is no gcc or cc on this machine."}
}

// thousands writes n with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
