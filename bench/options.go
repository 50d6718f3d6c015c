package main

import (
	"io"
	"time"
)

// options say how much is measured.
type options struct {
	rounds   int           // rounds of each side
	bursts   int           // bursts of each side in a round; the fastest counts
	burst    time.Duration // the least time that a burst takes
	many     int           // tasks in a batch, in the rows for many tasks
	sizes    []int         // the numbers of tasks of a row about growth
	growth   int           // the fewest tasks in a burst of such a row: so many batches of a small size
	batches  int           // the fewest batches in a burst; such a round is one burst, with its share of garbage collection
	sleep    time.Duration // how long each of the many sleeps
	requests int           // requests in a round of a server
	conns    int           // the most connections to a server
	servers  []string      // the servers of a row that echoes; nil: those that the row names
	open     time.Duration // a round of the open loop
	rest     time.Duration // between the many tasks of spawn-after and its measurement: after a second a loop has freed what it kept of them
	million  int           // tasks in the row with a million of them
	asleep   time.Duration // how long each of these sleeps
	profile  string        // the folder for CPU profiles of server processes; "": none
	ready    bool          // no rival is built that takes long to build: it is used if it is there
	progress io.Writer     // what takes long is reported here; nil: nowhere
}

// full is what the published table is measured with.
func full() options {
	return options{
		rounds: 7, bursts: 5, burst: 10 * time.Millisecond,
		sizes: []int{10, 100, 1000, 10_000, 100_000, 1_000_000}, growth: 300_000,
		many: 100_000, batches: 3, sleep: time.Millisecond,
		requests: 40_000, conns: 10_000, open: time.Second, million: 1_000_000, asleep: 6 * time.Second,
		rest: 1100 * time.Millisecond,
	}
}

// short is for a quick look.
func short() options {
	o := full()
	o.rounds, o.bursts, o.batches, o.requests, o.open = 2, 3, 1, 10_000, 500*time.Millisecond
	o.sizes = o.sizes[:5]
	return o
}
