package main

// This file measures what a connection costs a server while nothing happens on
// it: the memory that the server's process has more of, per connection, when
// each has echoed one request and its handler waits in Read for the next, or, of
// a Protocol, has returned. What the kernel keeps for a socket is not in it; that
// is the same for all.

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// idleBuffer is small, so that the figure is of the connection and its
// coroutine or goroutine, not of a buffer that is the program's choice.
const idleBuffer = "64"

func idleRow() row { return row{"idle", idle} }

func idle(o options) ([]finding, error) {
	onServer, onLoad, err := processors()
	if err != nil {
		return nil, err
	}
	conns, note, err := affordable(o.idle)
	if err != nil {
		return nil, err
	}
	task := finding{
		what:  fmt.Sprintf("idle connection, waiting in Read, %s of them%s: memory", thousands(conns), note),
		rival: "net, a goroutine each", unit: "B", budget: 1.0, allowed: unlimited,
	}
	callbacks := finding{
		what:  fmt.Sprintf("idle connection of a Protocol, %s of them%s: memory", thousands(conns), note),
		rival: "net, a goroutine each", unit: "B", budget: 0.33, allowed: unlimited,
	}
	var tasks, protocols, theirs []float64
	// A round starts two processes with all their connections, and there is
	// little to vary in it.
	for range min(o.rounds, 3) {
		a, err := idleMemory(o, "rondo", conns, onServer, onLoad)
		if err != nil {
			return nil, fmt.Errorf("rondo: %w", err)
		}
		b, err := idleMemory(o, "net", conns, onServer, onLoad)
		if err != nil {
			return nil, fmt.Errorf("net: %w", err)
		}
		c, err := idleMemory(o, "protocol", conns, onServer, onLoad)
		if err != nil {
			return nil, fmt.Errorf("protocol: %w", err)
		}
		tasks, theirs, protocols = append(tasks, a), append(theirs, b), append(protocols, c)
		task.ratios = append(task.ratios, a/b)
		callbacks.ratios = append(callbacks.ratios, c/b)
	}
	task.mine, task.theirs = median(tasks), median(theirs)
	callbacks.mine, callbacks.theirs = median(protocols), median(theirs)
	return []finding{task, callbacks}, nil
}

// idleMemory gives the bytes per connection of a fresh server.
func idleMemory(o options, kind string, conns, onServer, onLoad int) (bytes float64, err error) {
	server, err := startServer(onServer, o, kind, "idle", "-buffer", idleBuffer)
	if err != nil {
		return 0, err
	}
	defer endWith(server, &err)
	address, err := server.line()
	if err != nil {
		return 0, err
	}
	before, err := server.number("memory")
	if err != nil {
		return 0, err
	}
	holder, err := startSelf(onLoad, "hold", address, strconv.Itoa(conns))
	if err != nil {
		return 0, err
	}
	defer endWith(holder, &err)
	if _, err := holder.line(); err != nil {
		return 0, err
	}
	after, err := server.number("memory")
	return (after - before) / float64(conns), err
}

// endWith ends p, and gives its error to err if that has none.
func endWith(p *process, err *error) {
	if end := p.Close(); *err == nil {
		*err = end
	}
}

// hold is the life of a process that opens connections, sends one request on
// each, says "ready", and keeps them until its standard input ends.
func hold(args []string) error {
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	conns, err := connect(args[0], count)
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

// affordable gives how many connections a process may have open, at most as
// many as are wanted, and a note if they are fewer. A Go program has raised its
// limit of open files to the hard one by itself.
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
