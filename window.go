package rondo

// This file is the window through which others look into the program from
// outside: it says where in the kernel's records what stands, and nothing more.
// The reader, package inspect, asks nothing of the loop and stops nothing: the
// records are those that the loop needs for itself, written as it needs them, so
// being looked at costs it nothing. What a reader sees may be half changed; it is
// the reader's part to notice.

import (
	"unsafe"

	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/ring"
	"github.com/rondo-go/rondo/internal/stdctx"
	"github.com/rondo-go/rondo/internal/window"
)

const (
	atSchedule = unsafe.Offsetof(Loop{}.schedule)
	atBorder   = unsafe.Offsetof(Loop{}.border)
)

// pane is the table that a reader finds. It must stand in the program's
// initialised data, so everything in it but Self is known to the linker.
var pane = window.Table{
	Cookie: [2]uint64{window.Cookie0, window.Cookie1}, Version: window.Version, Size: uint32(unsafe.Sizeof(window.Table{})),
	Loops: unsafe.Pointer(&loops.live), Marker: marker,
	Offsets: [window.Count]uint16{
		window.LoopName:     uint16(unsafe.Offsetof(Loop{}.name)),
		window.LoopSerial:   uint16(unsafe.Offsetof(Loop{}.serial)),
		window.LoopRing:     uint16(unsafe.Offsetof(Loop{}.registry) + unsafe.Offsetof(registry{}.allTasks)),
		window.LoopLive:     uint16(unsafe.Offsetof(Loop{}.registry) + unsafe.Offsetof(registry{}.live)),
		window.LoopSpawned:  uint16(unsafe.Offsetof(Loop{}.registry) + unsafe.Offsetof(registry{}.lastID)),
		window.LoopCurrent:  uint16(unsafe.Offsetof(Loop{}.current)),
		window.LoopHub:      uint16(unsafe.Offsetof(Loop{}.registry) + unsafe.Offsetof(registry{}.runTask)),
		window.LoopNow:      uint16(unsafe.Offsetof(Loop{}.clock) + unsafe.Offsetof(clock{}.now)),
		window.LoopStarted:  uint16(unsafe.Offsetof(Loop{}.clock) + unsafe.Offsetof(clock{}.started)),
		window.LoopEpoch:    uint16(unsafe.Offsetof(Loop{}.clock) + unsafe.Offsetof(clock{}.epoch)),
		window.LoopSteps:    uint16(atSchedule + unsafe.Offsetof(schedule{}.steps)),
		window.LoopTurns:    uint16(unsafe.Offsetof(Loop{}.stats) + unsafe.Offsetof(Stats{}.Turns)),
		window.LoopSwitches: uint16(unsafe.Offsetof(Loop{}.stats) + unsafe.Offsetof(Stats{}.Switches)),
		window.LoopPosts:    uint16(unsafe.Offsetof(Loop{}.stats) + unsafe.Offsetof(Stats{}.Posts)),
		window.LoopIdle:     uint16(unsafe.Offsetof(Loop{}.stats) + unsafe.Offsetof(Stats{}.Idle)),
		window.LoopReady:    uint16(atSchedule + unsafe.Offsetof(schedule{}.queue) + ring.LengthAt),
		window.LoopTimers:   uint16(unsafe.Offsetof(Loop{}.timers) + unsafe.Offsetof(timers{}.heap)),
		window.LoopOffloads: uint16(atBorder + unsafe.Offsetof(border{}.offloads) + unsafe.Offsetof(offloads{}.running)),
		window.LoopWorkers:  uint16(unsafe.Offsetof(Loop{}.pool) + unsafe.Offsetof(pool{}.workers)),
		window.LoopNested:   uint16(atBorder + unsafe.Offsetof(border{}.callers) + unsafe.Offsetof(callers{}.nested)),
		window.LoopSize:     uint16(unsafe.Sizeof(Loop{})),

		window.TaskWorker: uint16(unsafe.Offsetof(Task{}.worker)),
		window.TaskState:  uint16(unsafe.Offsetof(Task{}.state)),
		window.TaskScope:  uint16(unsafe.Offsetof(Task{}.scope)),
		window.TaskOwner:  uint16(unsafe.Offsetof(Task{}.owner)),
		window.TaskNext:   uint16(taskLinks + unsafe.Offsetof(list.Links[Task]{}.Next)),
		window.TaskPrev:   uint16(taskLinks + unsafe.Offsetof(list.Links[Task]{}.Prev)),
		window.TaskFn:     uint16(unsafe.Offsetof(Task{}.fn)),
		window.TaskRare:   uint16(unsafe.Offsetof(Task{}.extra)),
		window.TaskID:     uint16(unsafe.Offsetof(Task{}.id)),
		window.TaskParent: uint16(unsafe.Offsetof(Task{}.parent)),
		window.TaskBorn:   uint16(unsafe.Offsetof(Task{}.born)),
		window.TaskSize:   uint16(unsafe.Sizeof(Task{})),

		window.RareName:  uint16(unsafe.Offsetof(taskExtra{}.name)),
		window.RareEntry: uint16(unsafe.Offsetof(taskExtra{}.entry)),
		window.RareSize:  uint16(unsafe.Sizeof(taskExtra{})),

		window.WorkerJob:      uint16(unsafe.Offsetof(worker{}.job)),
		window.WorkerSwitches: uint16(unsafe.Offsetof(worker{}.switches)),
		window.WorkerAlarm:    uint16(unsafe.Offsetof(worker{}.timerIndex)),
		window.WorkerList:     uint16(unsafe.Offsetof(worker{}.list)),
		window.WorkerWhat:     uint16(unsafe.Offsetof(worker{}.reason) + unsafe.Offsetof(Reason{}.What)),
		window.WorkerOn:       uint16(unsafe.Offsetof(worker{}.reason) + unsafe.Offsetof(Reason{}.On)),
		window.WorkerSince:    uint16(unsafe.Offsetof(worker{}.since)),
		window.WorkerInner:    uint16(unsafe.Offsetof(worker{}.inner)),
		window.WorkerID:       uint16(unsafe.Offsetof(worker{}.id)),
		window.WorkerG:        uint16(unsafe.Offsetof(worker{}.g)),
		window.WorkerSize:     uint16(unsafe.Sizeof(worker{})),

		window.ListOwner: uint16(unsafe.Offsetof(WaitList{}.Owner)),
		window.ListOf:    uint16(unsafe.Offsetof(WaitList{}.Of)),
		window.ListSize:  uint16(unsafe.Sizeof(WaitList{})),

		window.ScopeLoop:    uint16(unsafe.Offsetof(Scope{}.loop)),
		window.ScopeHost:    uint16(unsafe.Offsetof(Scope{}.host)),
		window.ScopeParent:  uint16(unsafe.Offsetof(Scope{}.parent)),
		window.ScopeTasks:   uint16(unsafe.Offsetof(Scope{}.tasks)),
		window.ScopeMarks:   uint16(unsafe.Offsetof(Scope{}.shield)),
		window.ScopeVerdict: uint16(unsafe.Offsetof(Scope{}.published) + stdctx.EndedAt),
		window.ScopeShown:   uint16(unsafe.Offsetof(Scope{}.published) + stdctx.LazyAt),
		window.ScopeSize:    uint16(unsafe.Sizeof(Scope{})),

		window.TimerWhen: uint16(unsafe.Offsetof(timer{}.when)),
		window.TimerWho:  uint16(unsafe.Offsetof(timer{}.worker)),
		window.TimerSize: uint16(unsafe.Sizeof(timer{})),

		window.NestedID:   uint16(unsafe.Offsetof(nested{}.id)),
		window.NestedG:    uint16(unsafe.Offsetof(nested{}.g)),
		window.NestedIn:   uint16(unsafe.Offsetof(nested{}.in)),
		window.NestedSize: uint16(unsafe.Sizeof(nested{})),
	},
}

// The linker drops what nobody refers to, and a table that pointed to itself
// could not be laid out before the program runs.
func init() { pane.Self = &pane }

// marker is named by a reader to prove that it reads the function tables right.
func marker() {}
