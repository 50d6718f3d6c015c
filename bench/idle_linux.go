package main

// Idle rows: the memory that an idle connection costs a server process.
// Each connection has echoed one request. Then its handler waits in Read for the
// next one; a Session or the callback of a Protocol has returned. What the kernel keeps for a
// socket is not counted, because it is the same for all servers.

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// idleBuffer is small, so that the figure is that of the connection and its
// coroutine or goroutine, and not of a buffer that the program chooses.
const idleBuffer = 64

// idleServers are those that keep memory for a connection. The programs in C do not.
var idleServers = []string{"tasks", "session", "protocol", "net", "gnet", "netpoll", "nbio", "tokio", "monoio", "asyncio", "asyncio-protocol", "uvloop", "uvloop-protocol"}

func idleRow() row {
	return row{
		name: "idle", section: memory, run: idle,
		why: "A task that waits in Read keeps a stack of at least 2 KiB, the runtime's record of a goroutine, and its own record beside that of the connection. A Session keeps its function in place of them. gnet keeps no stack. A tokio task is as large as what it keeps across a wait.",
	}
}

func idle(o options) ([]result, error) {
	allowed := budgets{partTasks: {perGoroutine: 1.12}}
	return idleOf(o, "idle connection", "", chosen(idleServers), allowed, map[string]float64{partSession: 700})
}

// idleOf measures connections that asked once, for an echo or an exchange. limits are bytes of
// the parts of Rondo.
func idleOf(o options, what, asks string, list []server, allowed budgets, limits map[string]float64) (found []result, err error) {
	onServer, onLoad, err := processors()
	if err != nil {
		return nil, err
	}
	conns, note, err := affordable(o.conns)
	if err != nil {
		return nil, err
	}
	var pairs []*pair
	var absent skipped
	for _, s := range list {
		p := &pair{name: s.name, label: s.label, ours: s.ours, costs: make(map[string][]float64)}
		// The rounds differ little, and each starts a process with all connections.
		for range min(o.rounds, 5) {
			bytes, err := idleMemory(o, s, asks, conns, onServer, onLoad)
			if absent.takes(err) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			p.costs["memory"] = append(p.costs["memory"], bytes)
		}
		if p.costs["memory"] != nil {
			pairs = append(pairs, p)
		}
	}
	what = fmt.Sprintf("%s, %s of them%s: memory", what, thousands(conns), note)
	found = compared(result{What: what, Unit: "B"}, "memory", pairs, allowed)
	for i := range found {
		found[i].Limit = limits[found[i].Mine]
	}
	return found, absent.orNil()
}

// idleMemory starts a server and returns its memory per connection, in bytes.
func idleMemory(o options, s server, asks string, conns, onServer, onLoad int) (bytes float64, err error) {
	p, err := s.launch(o, onServer, "idle", serving{buffer: idleBuffer})
	if err != nil {
		return 0, err
	}
	defer endWith(p, &err)
	address, err := p.line()
	if err != nil {
		return 0, err
	}
	before, err := p.memory()
	if err != nil {
		return 0, err
	}
	holder, err := startSelf(onLoad, "hold", address, strconv.Itoa(conns), asks)
	if err != nil {
		return 0, err
	}
	defer endWith(holder, &err)
	if _, err := holder.line(); err != nil {
		return 0, err
	}
	after, err := p.memory()
	return (after - before) / float64(conns), err
}

// endWith ends p, and stores its error in *err if that is nil.
func endWith(p *process, err *error) {
	if end := p.Close(); *err == nil {
		*err = end
	}
}

// requestSize is how many bytes the request of an idle connection has.
const requestSize = 64

// hold is a process that opens connections, sends one request on each, prints
// "ready", and keeps them open until its standard input ends.
func hold(args []string) error {
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	if args[2] != "" {
		return holdAsking(args[0], count, exchanges[args[2]])
	}
	conns, err := connect(args[0], count, requestSize)
	if err != nil {
		return err
	}
	var request [requestSize]byte
	for _, fd := range conns {
		if _, err := unix.Write(fd, request[:]); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	for _, fd := range conns {
		if n, _, err := unix.Recvfrom(fd, request[:], unix.MSG_WAITALL); err != nil || n < requestSize {
			return fmt.Errorf("read of %d bytes, got %d: %v", requestSize, n, err)
		}
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// holdAsking is hold with an exchange of HTTP on each connection, one after the other.
func holdAsking(address string, count int, e httpExchange) error {
	var held []io.ReadWriter
	for range count {
		c, err := e.dial(address)
		if err != nil {
			return err
		}
		held = append(held, c)
		if _, err := e.answerSize(c); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(held) // the garbage collector closes a net.Conn
	return err
}

// dial opens a connection for the exchange, which ends with a reset.
func (e httpExchange) dial(address string) (io.ReadWriter, error) {
	if e.secure {
		return dialSecure(address)
	}
	conns, err := connect(address, 1, 0)
	if err != nil {
		return nil, err
	}
	return descriptor(conns[0]), nil
}

// affordable returns how many connections a process can have open, at most wanted,
// and a note if that is fewer. A Go program raises its limit of open files to the
// hard limit by itself.
func affordable(wanted int) (n int, note string, err error) {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return 0, "", fmt.Errorf("getrlimit: %w", err)
	}
	const others = 64
	if files.Max < uint64(wanted)+others {
		return int(files.Max) - others, " (RLIMIT_NOFILE allows no more)", nil
	}
	return wanted, "", nil
}
