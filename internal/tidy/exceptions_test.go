package tidy

// An exception lets a file, or one function of it, do what a rule forbids.
type exception struct {
	rule string
	file string
	in   string // a function; empty: anywhere in the file
	what string // as in the breach
	why  string
}

var exceptions = []exception{
	{"determinism", "border.go", "goFunc", "go statement",
		"every goroutine is started here"},
	{"determinism", "sim/loop.go", "execute", "go statement",
		"a simulated loop has a goroutine of its own, so that the test outlives a loop that hangs"},
	{"determinism", "sim/cluster.go", "execute", "go statement",
		"the same for a cluster"},
	{"determinism", "sim/internal/search/candidate.go", "search", "time.Until",
		"a failure is shrunk only if the test has time left; no run is going on then"},
	{"determinism", "sim/internal/search/candidate.go", "", "time.Now",
		"the search for a shorter list of choices has a limit of real time; each of its runs is simulated"},
	{"determinism", "sim/bubble.go", "enter", "time.Sleep", "it brings the clock of a bubble to the loop's"},
	{"determinism", "sim/bubble.go", "enter", "time.Until", "it is the clock of a bubble, which is simulated"},
	{"determinism", "sim/bubble.go", "enter", "time.Now", "the same"},
	{"determinism", "sim/bubble.go", "pollBubble", "time.NewTimer", "the same"},
	{"determinism", "sim/bubble.go", "pollBubble", "time.Since", "the same"},
	{"determinism", "sim/errand.go", "elapse", "time.NewTimer", "the same, in a cluster"},
	{"determinism", "sim/errand.go", "elapse", "time.Since", "the same"},
	{"determinism", "sim/errand.go", "dismiss", "time.Sleep", "the same"},
	{"determinism", "sim/internal/chance/chance.go", "look", "rand.Uint64", "it finds where the runtime draws from"},
	{"determinism", "sim/internal/chance/chance.go", "isGenerator", "rand.Uint64", "the same"},
	{"determinism", "sim/around.go", "executeAround", "go statement",
		"a cluster has a goroutine of its own, so that the test outlives one that hangs"},
	{"determinism", "sim/internal/search/seeds.go", "Seeds", "time.Now",
		"a test may go on with further seeds for some real time, which no run can see"},
	{"determinism", "sim/internal/choice/shrink.go", "take", "time.Now",
		"the same limit"},
	{"determinism", "sim/internal/offload/offload.go", "Wait", "time.After",
		"a function that was offloaded runs in real time, and may wait for another one"},
	{"determinism", "sim/internal/offload/offload.go", "mayReturn", "time.After", "the same"},
	{"determinism", "sim/internal/offload/offload.go", "launch", "go statement",
		"a function that was offloaded runs on a goroutine; the simulation stands still until it ends"},
	{"determinism", "sim/internal/search/series.go", "run", "time.Now",
		"the search bears runs that take as long as the one that failed; no run can see it"},
	{"determinism", "sim/internal/search/series.go", "run", "time.Since", "the same"},
	{"determinism", "sim/hang.go", "wait", "time.NewTimer",
		"offloaded work takes real time, and so does the wait for it"},

	{"tiers", "gather.go", "contained", "use of panicError",
		"only the kernel has the stacks of the coroutines that a panic has left"},

	{"sleeps", "internal/kerneltest/watchdog_test.go", "blockInSleep", "time.Sleep",
		"it is what the watchdog is to find"},

	{"sleeps", "sim/bubble_test.go", "TestGoroutinesHTTP", "time.Sleep", "a goroutine sleeps on a simulated clock"},
	{"sleeps", "sim/bubble_test.go", "TestGoroutinesClock", "time.Sleep", "the same"},
	{"sleeps", "sim/bubble_test.go", "TestGoroutinesReceive", "time.Sleep", "the same"},

	{"skips", "internal/poll/descriptor_test.go", "TestHighDescriptor", "t.Skip",
		"the system may allow a process fewer than 900 descriptors"},
	{"skips", "interop/gosuite_test.go", "TestGoSuite", "t.Skip",
		"which tests of net/http a new Go release has is not known; those of .ci/run are known"},
	{"skips", "interop/gosuite_test.go", "buildSuite", "t.Skip",
		"some packages of Go come without the sources of its tests; the go command's downloads have them"},
	{"skips", "sim/victim_test.go", "runVictim", "t.Skip",
		"under js a program cannot start another"},
	{"skips", "sim/victim_test.go", "TestVictim", "t.Skip",
		"it fails on purpose in a process that another test starts, and is skipped elsewhere"},
}

// exceptionFor returns the exception that covers b, if one does.
func exceptionFor(rule string, b breach) (exception, bool) {
	for _, e := range exceptions {
		if e.rule == rule && e.file == b.file && e.what == b.what && (e.in == "" || e.in == b.in) {
			return e, true
		}
	}
	return exception{}, false
}
