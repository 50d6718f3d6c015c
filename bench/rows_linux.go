package main

// This file has the rows that need Linux: the CPU time of a process, and
// processes that each have a CPU.

func processRows() []row {
	return []row{echoRow(50), echoRow(1000), httpRow(64), httpTaskRow(64), idleRow(), inspectRow()}
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
