package main

// This file has the rows that need what only Linux has: the CPU time of a
// process, and processes on processors of their own.

func processRows() []row {
	return []row{echoRow(50), echoRow(1000), httpRow(64), idleRow(), inspectRow()}
}

func systemDuels() []duel { return []duel{asleep()} }

// asleep is the row in which all tasks are asleep before the first is due, which
// they are not if they sleep for 1 ms. The time that passes is then the sleep's,
// so the CPU time counts instead.
func asleep() duel {
	longer := func(side func(options) contestant) func(options) contestant {
		return func(o options) contestant {
			o.sleep *= 300
			return side(o)
		}
	}
	return duel{
		name: "sleep-at-once", what: "100,000 tasks asleep at once, CPU time to the end",
		rival: "goroutines in time.Sleep", budget: 0.6, allowed: unlimited,
		spent: processorTime, batches: true,
		mine: longer(sleepTasks), theirs: longer(sleepGoroutines),
	}
}
