package main

// The list of the servers that echo: Rondo's and their rivals.

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
)

// A server is a program that echoes. launch starts it on a CPU; its error is a
// *skipped if this machine does not have it.
type server struct {
	name   string // in -profile's file names and in workload.servers
	label  string // in the tables
	ours   bool   // it is Rondo's
	launch func(o options, processor int, row string, s serving) (*process, error)
}

// serving is what the servers of a row have in common.
type serving struct {
	buffer    int // bytes of a connection's buffer
	computing int // a further task computes so many microseconds at a time; 0: none
	hashed    int // bytes that are hashed for each request
}

// serverList is in the order of the tables.
var serverList = []server{
	{"tasks", partTasks, true, inGo("rondo")},
	{"session", partSession, true, inGo("session")},
	{"protocol", partProtocol, true, inGo("protocol")},
	{"net", perGoroutine, false, inGo("net")},
	{"gnet", "gnet", false, inGo("gnet")},
	{"netpoll", "netpoll", false, inGo("netpoll")},
	{"nbio", "nbio", false, inGo("nbio")},
	{"epoll", epollLoop, false, inC("epoll")},
	{"io_uring", uringLoop, false, inC("uring")},
	{"tokio", tokioThread, false, inRust(0)},
	{"monoio", "monoio, io_uring", false, inMonoio},
	{"asyncio", "asyncio, streams", false, inPython("asyncio", "streams")},
	{"asyncio-protocol", "asyncio, Protocol", false, inPython("asyncio", "protocol")},
	{"uvloop", "uvloop, streams", false, inPython("uvloop", "streams")},
	{"uvloop-protocol", "uvloop, Protocol", false, inPython("uvloop", "protocol")},
}

// inGo starts this program as a server.
func inGo(kind string) func(options, int, string, serving) (*process, error) {
	return func(o options, processor int, row string, s serving) (*process, error) {
		return startServer(processor, o, kind, row, "-buffer", strconv.Itoa(s.buffer), "-computing", strconv.Itoa(s.computing),
			"-hashed", strconv.Itoa(s.hashed))
	}
}

// startServer starts this program as a server of some kind.
func startServer(processor int, o options, kind, row string, more ...string) (*process, error) {
	args := append([]string{"serve", "-kind", kind}, more...)
	if o.profile != "" {
		args = append(args, "-profile", filepath.Join(o.profile, row+"-"+kind+".cpu"))
	}
	p, err := startSelf(processor, args...)
	if err == nil {
		p.collects = true
	}
	return p, err
}

func inC(folder string) func(options, int, string, serving) (*process, error) {
	return func(_ options, processor int, _ string, s serving) (*process, error) {
		program, err := builtC(folder)
		if err != nil {
			return nil, err
		}
		return start(processor, program, strconv.Itoa(s.buffer))
	}
}

// inRust starts the server of tokio, whose tasks run on so many threads; 0: on the one that
// accepts.
func inRust(threads int) func(options, int, string, serving) (*process, error) {
	return func(o options, processor int, _ string, s serving) (*process, error) {
		program, err := builtRust(o, tokioCrate, "echo")
		if err != nil {
			return nil, err
		}
		return start(processor, program, strconv.Itoa(s.buffer), strconv.Itoa(s.computing), strconv.Itoa(s.hashed), strconv.Itoa(threads))
	}
}

func inMonoio(o options, processor int, _ string, s serving) (*process, error) {
	program, err := builtRust(o, monoioCrate, "echo")
	if err != nil {
		return nil, err
	}
	return start(processor, program, strconv.Itoa(s.buffer))
}

// inPython starts the server on an event loop of Python, with its streams or with a Protocol.
func inPython(loop, way string) func(options, int, string, serving) (*process, error) {
	return func(_ options, processor int, _ string, s serving) (*process, error) {
		interpreter, program, err := pythonFor(loop)
		if err != nil {
			return nil, err
		}
		return start(processor, interpreter, program, loop, strconv.Itoa(s.buffer), way)
	}
}

// chosen returns the servers with the given names, or all.
func chosen(names []string) (list []server) {
	for _, s := range serverList {
		if len(names) == 0 || slices.Contains(names, s.name) {
			list = append(list, s)
		}
	}
	return list
}

// takes reports whether err says that something is missing. Then e says so too.
func (e *skipped) takes(err error) bool {
	var one *skipped
	if !errors.As(err, &one) {
		return false
	}
	e.sentences = append(e.sentences, one.sentences...)
	return true
}

// orNil returns e, or nil if nothing is missing.
func (e *skipped) orNil() error {
	if e.sentences == nil {
		return nil
	}
	return e
}

// A pair is a server and its load.
type pair struct {
	name   string
	label  string
	ours   bool
	server *process
	load   *process
	costs  map[string][]float64 // by what was measured, one a round
}

// open starts the server and its load, and sends requests to warm both up.
func (p *pair) open(launch func() (*process, error), onLoad int, warm int, args ...string) (err error) {
	if p.server, err = launch(); err != nil {
		return err
	}
	address, err := p.server.line()
	if err != nil {
		return err
	}
	if p.load, err = startSelf(onLoad, append(append([]string{"load"}, args...), address)...); err != nil {
		return err
	}
	if _, err := p.load.line(); err != nil {
		return err
	}
	_, err = p.load.ask(strconv.Itoa(warm))
	return err
}

// spent asks a process a question, and returns the answer and the CPU time of the server until it
// came.
func (p *pair) spent(asked *process, question string) (answer string, took float64, err error) {
	before, err := p.server.processorTime()
	if err != nil {
		return "", 0, err
	}
	if answer, err = asked.ask(question); err != nil {
		return "", 0, err
	}
	after, err := p.server.processorTime()
	return answer, float64(after - before), err
}

func (p *pair) close() error {
	var err error
	for _, child := range []*process{p.load, p.server} {
		if child != nil {
			err = errors.Join(err, child.Close())
		}
	}
	return err
}

// closeAll ends all pairs, and stores the first error in *err if that is nil.
func closeAll(pairs []*pair, err *error) {
	for _, p := range pairs {
		if end := p.close(); *err == nil {
			*err = end
		}
	}
}

// budgets are ratios that a part of Rondo must not exceed: by the label of the part,
// then by that of the rival.
type budgets map[string]map[string]float64

// compared returns a result for each pair of Rondo with each rival.
func compared(f result, metric string, pairs []*pair, allowed budgets) (found []result) {
	for _, mine := range pairs {
		for _, theirs := range pairs {
			if !mine.ours || theirs.ours {
				continue
			}
			f := f
			f.Mine, f.Rival, f.Allowed = mine.label, theirs.label, unlimited
			f.Budget = allowed[mine.label][theirs.label]
			found = append(found, beside(f, mine.costs[metric], theirs.costs[metric]))
		}
	}
	return found
}

// inTurns lets every pair have its rounds in turns.
func inTurns(rounds int, pairs []*pair, round func(p *pair) error) error {
	for i := range rounds {
		for k := range pairs {
			p := pairs[(i+k)%len(pairs)]
			if err := round(p); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	return nil
}
