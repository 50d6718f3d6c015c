package main

// The rows that need Linux: they measure the CPU time of a process, or give each
// process a CPU. A new row is one more line in processRows; a new server, of Rondo
// or a rival, is one more line in serverList.

import (
	"slices"
	"strconv"
	"time"
)

// computingServers are those that can compute beside their work.
var computingServers = []string{"tasks", "session", "protocol", "net", "tokio"}

func processRows() []row {
	return slices.Concat(oneCPURows(), growthRows(), simulationRows(), loopsRows(), natsRows(), httpServerRows(), httpIdleRows(), []row{
		echoRow(50, budgets{partTasks: {perGoroutine: 0.92, epollLoop: 1.15}, partSession: {epollLoop: 1.10}}),
		echoRow(1000, budgets{partTasks: {perGoroutine: 0.92, epollLoop: 1.25}, partSession: {perGoroutine: 0.80, epollLoop: 1.10}}),
		echoRow(10_000, budgets{partSession: {epollLoop: 1.10}}),
		workload{
			name: "echo-16k", what: "echo of 16 KiB, 50 connections", conns: 50, size: 16 << 10, share: 4,
		}.row(),
		workload{
			name: "pipeline", what: "echo of 64 B, 50 connections, 16 at once on each", conns: 50, size: 64, depth: 16, share: 0.25,
		}.row(),
		workload{
			name: "churn", what: "connect, one request of 64 B, close; 50 at once", kind: "churn", conns: 50, size: 64, share: 8,
			budgets: budgets{partTasks: {perGoroutine: 0.90, epollLoop: 1.20}},
			why:     "The system calls are as many as in C, but each connection starts a task and makes objects that the collector has to find.",
		}.row(),
		workload{
			name: "open", what: "64 B, 25,000/s on 100 connections", kind: "open", counted: servers, conns: 100, size: 64,
			budgets: budgets{partTasks: {epollLoop: 1.25}},
			tail:    budgets{partTasks: {perGoroutine: 1.00}},
			why: "At this rate a server goes to sleep after almost every request. Rondo sleeps in the runtime's poller, which watches Rondo's own: that is dearer than to call epoll_wait directly. " +
				"With io_uring one system call sends and waits.",
		}.row(),
		workload{
			name: "computing", what: "the same, beside a task that computes 200 µs and yields, again and again", kind: "open", conns: 100, size: 64,
			computing: 200 * time.Microsecond, servers: computingServers,
			median: budgets{partTasks: {tokioThread: 1.20}}, p99: 2 * time.Millisecond,
			why: "A request waits for the step of 200 µs that is running.",
		}.row(),
	}, httpRows(), []row{idleRow(), webSocketIdleRow(), millionRow(), inspectRow()})
}

func echoRow(conns int, allowed budgets) row {
	return workload{
		name: "echo-" + strconv.Itoa(conns), what: "echo of 64 B, " + thousands(conns) + " connections",
		conns: conns, size: 64, budgets: allowed,
	}.row()
}

func systemRows() []comparison { return []comparison{asleep()} }

// asleep is the row in which all tasks sleep before the first is due. With a sleep
// of 1 ms they do not. Most of the time that passes is then the sleep itself, so
// the row measures CPU time.
func asleep() comparison {
	longer := func(sleepers func(options) side) func(options) side {
		return func(o options) side {
			o.sleep *= 300
			return sleepers(o)
		}
	}
	return comparison{
		name: "sleep-at-once", what: "100,000 tasks asleep at once, CPU time to the end",
		rival: "goroutines in time.Sleep", budget: 0.6, allowed: unlimited,
		spent: processorTime, batches: true,
		mine: longer(sleepTasks), theirs: longer(sleepGoroutines),
	}
}
