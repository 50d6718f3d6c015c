package inspect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Program is the state of one program at one time, as Snapshot found it. Durations are in
// nanoseconds where it is written as JSON.
type Program struct {
	PID   int       `json:"pid,omitempty"` // 0 for a core
	Go    string    `json:"go"`            // the version of Go it was built with
	Taken time.Time `json:"taken"`
	// Missing says in a sentence what could not be read, because some of the memory did not
	// arrive, or because this package does not know the release of Go that built the program;
	// "" if nothing.
	Missing string `json:"missing,omitempty"`
	// Stopped says that the process was stopped, by a signal or by a debugger.
	Stopped bool `json:"stopped,omitempty"`
	// Rings are tasks of several loops that wait for each other, each for the next and
	// the last for the first.
	Rings [][]TaskID `json:"rings,omitempty"`
	// Goroutines are those that run no task, if they were asked for, in the order in which the
	// runtime has them. NoGoroutines says in words why all or some of them are missing.
	// MoreGoroutines is how many were left out because of a limit; if that is a limit of time or
	// memory, some of these may have ended long ago.
	Goroutines     []*Goroutine `json:"goroutines,omitempty"`
	NoGoroutines   string       `json:"no_goroutines,omitempty"`
	MoreGoroutines int          `json:"more_goroutines,omitempty"`

	Loops []*Loop `json:"loops"` // in the order of their names
}

// Picture is Program.
//
// Deprecated: use Program.
type Picture = Program

// A Loop is one loop of the program.
type Loop struct {
	ID       uint64        `json:"id"` // no other loop of the program has or had it
	Name     string        `json:"name"`
	Uptime   time.Duration `json:"uptime"`
	Idle     time.Duration `json:"idle"` // time spent asleep
	Busy     time.Duration `json:"busy"` // time not spent asleep
	Turns    uint64        `json:"turns"`
	Switches uint64        `json:"switches"`
	Steps    uint64        `json:"steps"` // tasks and callbacks run
	Posts    uint64        `json:"posts"`
	Spawned  uint64        `json:"spawned"` // tasks that were ever started
	Ready    int           `json:"ready"`
	Timers   int           `json:"timers"`
	Offloads int           `json:"offloads"` // functions that run in Offload
	Workers  int           `json:"workers"`  // coroutines, idle ones included
	// Conns is how many connections are open that the program has accepted, dialled or
	// adopted with package socket on this loop, Transports included. Listeners, datagram
	// sockets and pipes are none, and neither are those of package net. It is nil if the
	// program's Rondo is too old to count them.
	Conns *int `json:"conns,omitempty"`

	// Servers are those that serve on this loop, in the order in which they began.
	Servers []Server `json:"servers,omitempty"`

	// Lag is how late the loop is for what is due. While the loop runs tasks, Lag is the time
	// since it last looked for timers and events that are due. While it sleeps, Lag is the time
	// for which its first timer has been due: 0 if it sleeps on time.
	Lag time.Duration `json:"lag"`
	// Deadlock is for how long nothing could run, no timer was set, and nothing known could
	// wake the loop; 0 if that has not lasted a second. It is the judgement of the loop itself,
	// which reports it too: see DEBUGGING.md.
	Deadlock time.Duration `json:"deadlock,omitempty"`
	// Running is the task that has the loop; 0 if none has.
	Running uint64 `json:"running,omitempty"`
	// Held says what keeps the loop from turning; nil if it turns or sleeps.
	Held *Held `json:"held,omitempty"`

	// LongSteps are the last steps that held the loop, the last one first, eight at most.
	// Uncharged is the time of long steps that the loop could not charge to a task, because it
	// read the clock only after several steps.
	LongSteps []Step        `json:"long_steps,omitempty"`
	Uncharged time.Duration `json:"uncharged,omitempty"`

	// Times are how long tasks were ready before they ran and how long their steps took, if
	// Options.Times asked for it: of all tasks first, then of each kind of task. Only the steps
	// count that the flight record still has, which may be less than was asked for.
	Times []Times `json:"times,omitempty"`

	// Exact says that nothing changed while the snapshot was taken. Otherwise
	// Missed counts the tasks that started or ended meanwhile. What is said of a
	// task is right either way, but tasks may be of different moments.
	Exact  bool `json:"exact"`
	Missed int  `json:"missed,omitempty"`
	// Omitted counts the tasks that are not in Tasks because a limit or a filter was
	// given. Short says in words how many of them were not read because a bound on the
	// snapshot was exceeded, and which.
	Omitted int     `json:"omitted,omitempty"`
	Short   string  `json:"short,omitempty"`
	Tasks   []*Task `json:"tasks"` // in the order in which they were started
	// Briefs are all tasks in short, in the same order, if Options.BriefFrom asked for them. Tasks
	// then has only those from which something is concluded: those that run, that wait for
	// others, that own tasks, or whose stacks were asked for.
	Briefs []Brief `json:"-"`
	// Cycles are tasks that wait for each other, each for the next and the last for the first.
	// Only a cancellation can wake one of them from outside.
	Cycles [][]uint64 `json:"cycles,omitempty"`

	apart map[ScopeID]int // of a scope, how many tasks are in Briefs only
}

// A Server has the counters of a socket.Server or a socket.Protocol while it serves on a loop, or
// of the part of one that shard.Serve runs on that loop. The counters are those of socket.Stats,
// and count from when the server was made.
type Server struct {
	Name          string `json:"name"` // the address of its first listener
	Accepted      int64  `json:"accepted"`
	Open          int64  `json:"open"`
	RefusedByAddr int64  `json:"refused_by_addr,omitempty"`
	RefusedByRate int64  `json:"refused_by_rate,omitempty"`
	Handshakes    int64  `json:"handshakes,omitempty"` // that failed
	Silent        int64  `json:"silent,omitempty"`
	Idle          int64  `json:"idle,omitempty"`
	PeerClosed    int64  `json:"peer_closed,omitempty"`
	Errors        int64  `json:"errors,omitempty"`
	Panics        int64  `json:"panics,omitempty"`
}

// A Task is one task of a loop.
type Task struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name"`
	Func    string `json:"func"`              // the function that it runs
	State   string `json:"state"`             // new, ready, running or waiting
	Waiting string `json:"waiting,omitempty"` // for what, in words
	What    string `json:"what,omitempty"`    // for what kind of thing
	On      uint64 `json:"on,omitempty"`      // the task that can end the wait, if it is known
	FD      int    `json:"fd,omitempty"`      // the descriptor that it waits for
	// Any is for a task in a Select each of whose cases needs a task of the loop. It lists those
	// tasks: any of them can end the wait. For other waits it is nil.
	Any []uint64 `json:"any,omitempty"`
	// Readers is how many tasks have locked for reading the RWMutex that it waits for. Abandoned
	// says that the task that took the Mutex or RWMutex has ended without Unlock.
	Readers   int  `json:"readers,omitempty"`
	Abandoned bool `json:"abandoned,omitempty"`
	// Elsewhere is the task of another loop that can end the wait, if it is known.
	Elsewhere *TaskID `json:"elsewhere,omitempty"`
	// Thing is the same for tasks of one snapshot that wait for the same thing, such as a
	// lock or a queue; 0 if it is not known what that is, and for a Select.
	Thing  uint64        `json:"thing,omitempty"`
	Due    time.Duration `json:"due,omitempty"`    // how long until its timer; less than 0: it is late
	Parent uint64        `json:"parent,omitempty"` // the task that started it
	// Site is the call that started it; nil if that is not known, or Rondo's own.
	Site *Frame        `json:"site,omitempty"`
	Age  time.Duration `json:"age"`
	// Since is how long it has waited, by the loop's clock, which is read once a turn:
	// it may be too long by the part of the turn that had passed.
	Since    time.Duration `json:"since,omitempty"`
	Switches uint64        `json:"switches"`
	// Busy is the time that the loop charged the task with. The clock is not read at each step:
	// of short steps in a row the last is charged with all. So the shares of tasks are right over
	// time, and a step of about 100 µs or more is charged nearly exactly. LongestStep (67 s at
	// most) and SlowSteps, the number of steps of a millisecond or more (1023 at most), are of
	// steps that were measured alone.
	Busy        time.Duration `json:"busy,omitempty"`
	LongestStep time.Duration `json:"longest_step,omitempty"`
	SlowSteps   int           `json:"slow_steps,omitempty"`
	// WokenBy is the task that made it ready last, or started it; 0 for a timer, an
	// event or a callback.
	WokenBy   uint64 `json:"woken_by,omitempty"`
	Cancelled bool   `json:"cancelled,omitempty"`
	// Owner is the scope that waits for its end; nil for the loop's root scope.
	Owner *ScopeID `json:"owner,omitempty"`
	// Scopes are those that its body has opened and not left, the outermost first.
	Scopes    []Scope `json:"scopes,omitempty"`
	Goroutine uint64  `json:"goroutine,omitempty"`
	Thread    int     `json:"thread,omitempty"` // where it ran, if it did
	// Stack is where it is, the innermost call first, all calls included.
	Stack []Frame `json:"stack,omitempty"`
	Cut   bool    `json:"cut,omitempty"` // the outermost calls are missing
	// Offload is the goroutine that runs the function for which it waits in Offload, if stacks
	// were asked for; nil if that is not known.
	Offload *Goroutine `json:"offload,omitempty"`
	// Partial says that the innermost calls are missing: those of coroutines that the task has
	// resumed.
	Partial bool `json:"partial,omitempty"`
	// Moved says that the task ran while the snapshot was taken, so its wait and its
	// stack are not known.
	Moved bool `json:"moved,omitempty"`

	outer bool // the end of the scope that it opened last does not end its wait: that has another ctx
}

// A ScopeID names a scope: the one that the task Host has opened at a depth, 1
// for the outermost.
type ScopeID struct {
	Host  uint64 `json:"host"`
	Depth int    `json:"depth"`
}

// A Scope is a Group, Timeout, Deadline or Shield that a task is in.
type Scope struct {
	Kind      string        `json:"kind"`           // group, timeout or shield
	Tasks     int           `json:"tasks"`          // how many it owns
	Left      time.Duration `json:"left,omitempty"` // until its deadline
	Cancelled bool          `json:"cancelled,omitempty"`
}

// Held says what keeps a loop from turning.
type Held struct {
	Task   uint64        `json:"task,omitempty"` // whose step it is; 0: a callback's, or the loop's own
	For    time.Duration `json:"for"`
	How    string        `json:"how"`    // what its goroutine is doing
	Advice string        `json:"advice"` // what to use instead
	Thread int           `json:"thread,omitempty"`
	Stack  []Frame       `json:"stack,omitempty"`
}

// A Step is a step that held a loop: it took 100 ms or more, and has ended.
type Step struct {
	Task uint64        `json:"task,omitempty"` // 0: a callback, or it is not known which of several tasks
	Took time.Duration `json:"took"`
	Ago  time.Duration `json:"ago"` // since its end
}

// A TaskID names a task among those of all loops.
type TaskID struct {
	Loop string `json:"loop"`
	ID   uint64 `json:"id"`
}

// sortLoops puts the loops in the order of their names, shard-2 before shard-10.
func (p *Program) sortLoops() {
	slices.SortStableFunc(p.Loops, func(a, b *Loop) int {
		x, m := numbered(a.Name)
		y, n := numbered(b.Name)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(m, n), cmp.Compare(a.ID, b.ID))
	})
}

// numbered cuts the number off the end of a name.
func numbered(name string) (string, int) {
	rest := strings.TrimRight(name, "0123456789")
	n, _ := strconv.Atoi(name[len(rest):]) // one that is too large is the largest
	return rest, n
}
