// Package layout has the table by which a program with Rondo in it can be read from
// outside: it says where the loops are, and at which offset in their records each
// field is. Package rondo fills it in, package inspect reads it; neither depends on
// the other's version beyond this.
//
// The table is found by its cookie, in the program's initialised data, and is
// known from a chance hit or a copy by its Self, which is set when the program
// starts. It costs the program nothing but the memory.
package layout

import "unsafe"

// Version is the version of the table. It grows when an offset changes its
// meaning or is taken away; new ones are added at the end.
const Version = 1

// The cookie with which a table begins: two words, as no program has them by
// chance. They are constants so that the linker can lay the table out.
const (
	Cookie0 uint64 = 0x0a1a6f646e6f527f
	Cookie1 uint64 = 0xf5b427e86c915ed3
)

// A Table is what a program shows.
type Table struct {
	Cookie  [2]uint64
	Version uint32
	Size    uint32 // of the whole table, in bytes
	Self    *Table // itself, once the program has started
	// Loops is the address of a slice of the loops that live, *Loop each.
	Loops unsafe.Pointer
	// Marker is a function called marker: a reader that finds its name reads the
	// program's function tables right.
	Marker  func()
	Offsets [Count]uint16
}

// The offsets of the fields of a Table.
const (
	AtVersion = 16
	AtSize    = 20
	AtSelf    = 24
	AtLoops   = 32
	AtMarker  = 40
	AtOffsets = 48
)

// The offsets of fields in their records. Those that end in Size are the size of a
// record.
const (
	LoopName     = iota // string
	LoopSerial          // uint64
	LoopTasks           // *Task, any that lives
	LoopLive            // int, how many live
	LoopSpawned         // uint64, the number of the youngest task
	LoopCurrent         // *Task, the running one
	LoopRunTask         // *Task, stands for the goroutine of Run
	LoopNow             // int64, the clock when it was read last
	LoopStarted         // int64, the clock when Run began
	LoopEpoch           // int64, the system's monotonic clock at instant 0; 0: the clock is not the system's
	LoopSteps           // uint64, tasks and callbacks run
	LoopTurns           // uint64
	LoopSwitches        // uint64
	LoopPosts           // uint64
	LoopIdle            // int64, nanoseconds asleep
	LoopReady           // int, how many could run
	LoopTimers          // slice, of the timers
	LoopOffloads        // int, functions that are offloaded
	LoopWorkers         // int
	LoopNested          // slice, of the coroutines nested in tasks
	LoopSize

	TaskWorker // *worker
	TaskState  // uint8: new, ready, running, waiting, done
	TaskScope  // Scope, in place
	TaskOwner  // *Scope
	TaskNext   // *Task
	TaskPrev   // *Task
	TaskFn     // func, a pointer to its code's address
	TaskExtra  // *taskExtra
	TaskID     // uint64
	TaskParent // uint64
	TaskBorn   // int64
	TaskSize

	ExtraName  // *string
	ExtraEntry // uintptr, the user's function if Fn is one of Rondo's
	ExtraSize

	WorkerJob      // *Task
	WorkerSwitches // uint64
	WorkerTimer    // int32, the place of its timer plus one
	WorkerList     // *WaitList
	WorkerWhat     // string
	WorkerOn       // uint64
	WorkerSince    // int64
	WorkerInner    // *Scope, the one opened last
	WorkerID       // uint64, its goroutine's number
	WorkerG        // uintptr, the runtime's record of its goroutine
	WorkerSize

	ListOwner // *Task
	ListOf    // any: a *string or an address of package net
	ListSize

	ScopeLoop         // *Loop
	ScopeHost         // *Task
	ScopeParent       // *Scope
	ScopeTasks        // int32
	ScopeShield       // bool: a Shield
	ScopeCancellation // a pointer, nil if it is not cancelled
	ScopeLazy         // a pointer, to where its deadline stands as an int64
	ScopeSize

	TimerWhen   // int64
	TimerWorker // *worker
	TimerSize

	NestedID // uint64, the number of a coroutine among the goroutines
	NestedG  // uintptr, the runtime's record of it
	NestedIn // *Task, the one that it is nested in
	NestedSize

	WorkerSelection // *selection, what a task with the reason "select" waits for

	SelectionPlaces // []place
	SelectionTimer  // int, the case whose timer is set; -1: none
	SelectionSize

	PlaceList // *WaitList, nil if it is in none
	PlaceWhat // string
	PlaceOn   // uint64
	PlaceSize

	WorkerCost // pace.Cost
	LoopCosts  // pace.Costs

	TaskSite // int32, where it was started: how far behind the code of Marker; 0: it is not known

	// Those from here on are 0 if the program's Rondo is older than they are.

	LoopConns // int64, open connections

	LoopServers // slice, of *kernel.Server

	ServerSelf   // *kernel.Server, itself
	ServerName   // string
	ServerCounts // int64, the first of the counters, which are in the order of ServerAccepted
	ServerSize

	LoopStill      // int64, the clock since when nothing could run and nothing known could wake the loop
	LoopStillSteps // uint64, LoopSteps then: when there are more, that is over

	MutexName    // string
	MutexWaiters // WaitList, in place

	ReadwriteName    // string
	ReadwriteWriting // bool
	ReadwriteWriter  // *Task
	ReadwriteReaders // int
	ReadwriteHead    // *run, the first in the line
	ReadwriteSize

	RunList // WaitList, in place
	RunNext // *run
	RunSize

	ScopeRest // *scopeExtra

	RestLimit // int, how many of its tasks may have begun
	RestHeld  // slice, of those that have not begun therefore
	RestSize

	ExtraRenames // uint16, how often the task got a name, counted before it gets it

	LoopFlight // *flight.Record, nil if there is none yet

	OffloadList // WaitList, in place: that of a call in Offload, in which its task waits
	OffloadUser // uintptr, the code of the function
	OffloadID   // uint64, the number of the goroutine that runs it; 0 until it does
	OffloadG    // uintptr, the runtime's record of that
	OffloadSize

	WorkerUnder // *Scope, the one whose cancellation ends the wait

	Count
)

// Required is how many offsets each table has.
const Required = LoopConns

// The counters of a server, by their places.
const (
	ServerAccepted = iota
	ServerOpen
	ServerRefusedByAddr
	ServerRefusedByRate
	ServerHandshakes
	ServerSilent
	ServerIdle
	ServerPeerClosed
	ServerErrors
	ServerPanics
	ServerCounters
)

// Where things stand in a pace.Cost and in a pace.Costs, to which fields may be added
// at the end only.
const (
	CostBusy  = 0  // int64, nanoseconds that the task was charged with
	CostSteps = 8  // uint32, its longest step in 16 µs, above 10 bits: how many took a millisecond or more
	CostWaker = 12 // uint32, the low half of the number of the task that woke it last
	CostSize  = 16

	CostsUnknown = 0                      // int64, nanoseconds that no task was charged with
	CostsHeld    = 8                      // a ring of steps that held the loop
	CostsRing    = 8                      // its length
	CostsCount   = 8 + CostsRing*HeldSize // uint64, how many there were
	CostsSize    = CostsCount + 8

	HeldBegan = 0  // int64, an instant of the loop's clock
	HeldTook  = 8  // int64, nanoseconds
	HeldTask  = 16 // uint64, the number of a task, or 0
	HeldSize  = 24
)
