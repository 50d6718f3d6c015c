package main

// This file measures the memory that an idle connection costs a server process.
// Each connection has echoed one request. Then its handler waits in Read for the
// next one; with a Protocol its callback has returned. What the kernel keeps for a
// socket is not counted, because it is the same for all servers.

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// idleBuffer is small, so that the figure is that of the connection and its
// coroutine or goroutine, and not of a buffer that the program chooses.
const idleBuffer = "64"

func idleRow() row { return row{"idle", idle} }

func idle(o options) ([]result, error) {
	onServer, onLoad, err := processors()
	if err != nil {
		return nil, err
	}
	conns, note, err := affordable(o.idle)
	if err != nil {
		return nil, err
	}
	task := result{
		what:  fmt.Sprintf("idle connection, waiting in Read, %s of them%s: memory", thousands(conns), note),
		rival: "net, a goroutine each", unit: "B", budget: 1.0, allowed: unlimited,
	}
	callbacks := result{
		what:  fmt.Sprintf("idle connection of a Protocol, %s of them%s: memory", thousands(conns), note),
		rival: "net, a goroutine each", unit: "B", budget: 0.33, allowed: unlimited,
	}
	var tasks, protocols, theirs []float64
	// A round starts three processes with all their connections. The rounds differ
	// little, so three are enough.
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
	return []result{task, callbacks}, nil
}

// idleMemory starts a server and returns its memory per connection, in bytes.
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

// endWith ends p, and stores its error in *err if that is nil.
func endWith(p *process, err *error) {
	if end := p.Close(); *err == nil {
		*err = end
	}
}

// hold is a process that opens connections, sends one request on each, prints
// "ready", and keeps them open until its standard input ends.
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
