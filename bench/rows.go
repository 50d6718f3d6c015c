package main

// The table of budgets for the rows that need no process of their own: the
// operation, its rival, and the ratio that Rondo must reach. A new row is one more
// entry.

import "slices"

func rows() []row {
	var all []row
	for _, d := range slices.Concat(comparisons(), systemRows()) {
		all = append(all, d.row())
	}
	return slices.Concat(all, processRows())
}

// comparisons are the rows in which both sides run in this process.
func comparisons() []comparison {
	return slices.Concat(switchingRows(), startingRows(), passingRows(), shardRows())
}

func switchingRows() []comparison {
	const bare = "bare iter.Pull: next and yield"
	return []comparison{
		{
			name: "switch-2", what: "task switch, 2 tasks",
			rival: bare, budget: 0.80, allowed: 0,
			mine: turns(2, started), theirs: pull,
		},
		{
			name: "switch-1000", what: "task switch, 1,000 tasks",
			rival: bare, budget: 1.0, allowed: 0,
			mine: turns(1000, started), theirs: pull,
			why: "The next of 1,000 tasks has a stack that is not in the nearest cache. The rival goes to and fro between two stacks; beside 1,000 coroutines in turn the next line has the ratio.",
		},
		{
			name: "switch-1000-each", what: "task switch, 1,000 tasks",
			rival: "1,000 of iter.Pull in turn", allowed: 0,
			mine: turns(1000, started), theirs: pullEach,
			why: "A task is a coroutine with a record of its own, which is one more thing that is not in the cache.",
		},
		{
			name: "switch-1000-random", what: "task switch, 1,000 tasks woken in random order",
			rival: bare, allowed: 0,
			mine: turns(1000, shuffled), theirs: pull,
			why: "A turn visits memory in no order; the loop asks for the next tasks ahead.",
		},
		{
			name: "yield", what: "Yield with nothing else ready",
			rival: bare, budget: 0.15, allowed: 0,
			mine: turns(1, started), theirs: pull,
		},
		{
			name: "pull", what: "next of Pull and its yield",
			rival: bare, allowed: 0,
			mine: pullTask, theirs: pull,
			why: "The sequence runs in a task, because it may wait. A round trip is two switches of the loop in place of one pair of iter.Pull.",
		},
	}
}

func startingRows() []comparison {
	return []comparison{
		{
			name: "spawn", what: "spawn and join one task",
			rival: "`go` and a channel", budget: 0.6, allowed: 2,
			mine: spawnTask, theirs: spawnGoroutine,
		},
		{
			name: "spawn-after", what: "the same a second after 10,000 tasks lived at once",
			rival: "`go` and a channel", budget: 0.75, allowed: 2,
			mine: spawnTaskAfter, theirs: spawnGoroutineAfter,
		},
		{
			name: "group-errgroup", what: "100,000 tasks in a Group",
			rival: "errgroup", budget: 0.35, allowed: unlimited,
			batches: true,
			mine:    groupTasks, theirs: groupErrgroup,
		},
		{
			name: "group-waitgroup", what: "100,000 tasks in a Group",
			rival: "WaitGroup.Go", budget: 0.35, allowed: unlimited,
			batches: true,
			mine:    groupTasks, theirs: groupWaitGroup,
		},
		{
			name: "sleep", what: "100,000 tasks that sleep 1 ms, to the end",
			rival: "goroutines in time.Sleep", budget: 0.6, allowed: unlimited,
			batches: true,
			mine:    sleepTasks, theirs: sleepGoroutines,
			why: "Rondo starts all tasks before the first is due, so all stacks are in use at once. Most of the goroutines end before the last ones start.",
		},
		{
			name: "burst", what: "100,000 tasks that sleep 0 to 10 ms, to the end",
			rival: "goroutines in time.Sleep", budget: 1.2, allowed: unlimited,
			batches: true,
			mine:    burstTasks, theirs: burstGoroutines,
			why: "As in sleep: more tasks are under way at once, and each needs its stack.",
		},
	}
}

func passingRows() []comparison {
	return []comparison{
		{
			name: "queue", what: "Queue ping-pong",
			rival: "two channels", budget: 0.7, allowed: unlimited,
			mine: queuePingPong, theirs: channelPingPong,
		},
		{
			name: "mutex", what: "Mutex Lock and Unlock, uncontended",
			rival: "sync.Mutex", budget: 1.5, allowed: 0,
			mine: lockTask, theirs: lockGoroutine,
		},
		{
			name: "event", what: "100,000 tasks that wait on one Event, started, woken, to the end",
			rival: "goroutines on a closed channel", budget: 2.0, allowed: unlimited,
			batches: true,
			mine:    eventMany, theirs: channelMany,
		},
		{
			name: "semaphore", what: "Semaphore Acquire and Release, uncontended",
			rival: "a channel of one", allowed: 0,
			mine: semaphoreTask, theirs: semaphoreChannel,
		},
		{
			name: "cond", what: "Cond ping-pong",
			rival: "sync.Cond", allowed: 0,
			mine: condTasks, theirs: condGoroutines,
		},
		{
			name: "post", what: "Post of a function from a goroutine, 255 and one that answers",
			rival: "a channel of functions with room for 256", budget: 3,
			mine: postToLoop, theirs: sendToGoroutine,
			why: "A lock and the loop's queue, where a channel hands a value over itself; and the loop has a turn for them.",
		},
		{
			name: "offload", what: "Offload there and back, 2 CPUs",
			rival: "`go` and a channel", budget: 2.5, allowed: unlimited, procs: 2,
			mine: offload, theirs: goroutineAndBack,
			why: "Beside the goroutine there are two switches of tasks, a post to the loop, and its turn, which reads the clock.",
		},
		{
			name: "offload-1", what: "Offload there and back, GOMAXPROCS=1",
			rival: "`go` and a channel", budget: 2.5, allowed: unlimited, procs: 1,
			mine: offload, theirs: goroutineAndBack,
			why: "As in offload.",
		},
	}
}
