package rondo

// The layout says where each field is in the kernel's records, for readers that look into the
// program from outside. The reader, package inspect, calls nothing in the program and stops
// nothing: the records are those that the loop keeps for itself, written as it needs them, so
// it costs nothing to be read. A reader may see a record that is half changed, and must notice
// that.

import (
	"reflect"
	"unsafe"

	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/layout"
	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/pace"
	"github.com/rondo-go/rondo/internal/ring"
	"github.com/rondo-go/rondo/internal/stdctx"
	"github.com/rondo-go/rondo/internal/timers"
)

// layoutTable is the table that a reader finds. It must stand in the program's
// initialised data, so everything in it but Self is known to the linker.
var layoutTable = layout.Table{
	Cookie: [2]uint64{layout.Cookie0, layout.Cookie1}, Version: layout.Version, Size: uint32(unsafe.Sizeof(layout.Table{})),
	Loops: unsafe.Pointer(&loops.Live), Marker: marker,
	Offsets: [layout.Count]uint16{
		layout.LoopName:     uint16(unsafe.Offsetof(Loop{}.name)),
		layout.LoopSerial:   uint16(unsafe.Offsetof(Loop{}.serial)),
		layout.LoopTasks:    uint16(unsafe.Offsetof(Loop{}.allTasks)),
		layout.LoopLive:     uint16(unsafe.Offsetof(Loop{}.live)),
		layout.LoopSpawned:  uint16(unsafe.Offsetof(Loop{}.lastID)),
		layout.LoopCurrent:  uint16(unsafe.Offsetof(Loop{}.current)),
		layout.LoopRunTask:  uint16(unsafe.Offsetof(Loop{}.runTask)),
		layout.LoopNow:      uint16(unsafe.Offsetof(Loop{}.now)),
		layout.LoopStarted:  uint16(unsafe.Offsetof(Loop{}.started)),
		layout.LoopEpoch:    uint16(unsafe.Offsetof(Loop{}.epoch)),
		layout.LoopSteps:    uint16(unsafe.Offsetof(Loop{}.steps)),
		layout.LoopTurns:    uint16(unsafe.Offsetof(Loop{}.stats) + unsafe.Offsetof(Stats{}.Turns)),
		layout.LoopSwitches: uint16(unsafe.Offsetof(Loop{}.stats) + unsafe.Offsetof(Stats{}.Switches)),
		layout.LoopPosts:    uint16(unsafe.Offsetof(Loop{}.stats) + unsafe.Offsetof(Stats{}.Posts)),
		layout.LoopIdle:     uint16(unsafe.Offsetof(Loop{}.stats) + unsafe.Offsetof(Stats{}.Idle)),
		layout.LoopReady:    uint16(unsafe.Offsetof(Loop{}.queue) + ring.LengthAt),
		layout.LoopTimers:   uint16(unsafe.Offsetof(Loop{}.timers) + timers.HeapAt),
		layout.LoopOffloads: uint16(unsafe.Offsetof(Loop{}.offloads) + unsafe.Offsetof(offloads{}.running)),
		layout.LoopWorkers:  uint16(unsafe.Offsetof(Loop{}.workers)),
		layout.LoopNested:   uint16(unsafe.Offsetof(Loop{}.nested) + unsafe.Offsetof(gid.Nestings[Task]{}.Places)),
		layout.LoopCosts:    uint16(unsafe.Offsetof(Loop{}.pace) + unsafe.Offsetof(pace.Pace{}.Costs)),
		layout.LoopSize:     uint16(unsafe.Sizeof(Loop{})),

		layout.TaskWorker: uint16(unsafe.Offsetof(Task{}.worker)),
		layout.TaskState:  uint16(unsafe.Offsetof(Task{}.state)),
		layout.TaskScope:  uint16(unsafe.Offsetof(Task{}.scope)),
		layout.TaskOwner:  uint16(unsafe.Offsetof(Task{}.owner)),
		layout.TaskNext:   uint16(taskLinks + unsafe.Offsetof(list.Links[Task]{}.Next)),
		layout.TaskPrev:   uint16(taskLinks + unsafe.Offsetof(list.Links[Task]{}.Prev)),
		layout.TaskFn:     uint16(unsafe.Offsetof(Task{}.fn)),
		layout.TaskExtra:  uint16(unsafe.Offsetof(Task{}.extra)),
		layout.TaskID:     uint16(unsafe.Offsetof(Task{}.id)),
		layout.TaskParent: uint16(unsafe.Offsetof(Task{}.parent)),
		layout.TaskBorn:   uint16(unsafe.Offsetof(Task{}.born)),
		layout.TaskSize:   uint16(unsafe.Sizeof(Task{})),

		layout.ExtraName:  uint16(unsafe.Offsetof(taskExtra{}.name)),
		layout.ExtraEntry: uint16(unsafe.Offsetof(taskExtra{}.entry)),
		layout.ExtraSize:  uint16(unsafe.Sizeof(taskExtra{})),

		layout.WorkerJob:      uint16(unsafe.Offsetof(worker{}.job)),
		layout.WorkerSwitches: uint16(unsafe.Offsetof(worker{}.switches)),
		layout.WorkerTimer:    uint16(unsafe.Offsetof(worker{}.timerIndex)),
		layout.WorkerList:     uint16(unsafe.Offsetof(worker{}.list)),
		layout.WorkerWhat:     uint16(unsafe.Offsetof(worker{}.reason) + unsafe.Offsetof(Reason{}.What)),
		layout.WorkerOn:       uint16(unsafe.Offsetof(worker{}.reason) + unsafe.Offsetof(Reason{}.On)),
		layout.WorkerSince:    uint16(unsafe.Offsetof(worker{}.since)),
		layout.WorkerInner:    uint16(unsafe.Offsetof(worker{}.inner)),
		layout.WorkerID:       uint16(unsafe.Offsetof(worker{}.id)),
		layout.WorkerG:        uint16(unsafe.Offsetof(worker{}.g)),
		layout.WorkerCost:     uint16(unsafe.Offsetof(worker{}.cost)),
		layout.WorkerSize:     uint16(unsafe.Sizeof(worker{})),

		layout.ListOwner: uint16(unsafe.Offsetof(WaitList{}.Owner)),
		layout.ListOf:    uint16(unsafe.Offsetof(WaitList{}.Of)),
		layout.ListSize:  uint16(unsafe.Sizeof(WaitList{})),

		layout.ScopeLoop:         uint16(unsafe.Offsetof(Scope{}.loop)),
		layout.ScopeHost:         uint16(unsafe.Offsetof(Scope{}.host)),
		layout.ScopeParent:       uint16(unsafe.Offsetof(Scope{}.parent)),
		layout.ScopeTasks:        uint16(unsafe.Offsetof(Scope{}.tasks)),
		layout.ScopeShield:       uint16(unsafe.Offsetof(Scope{}.shield)),
		layout.ScopeCancellation: uint16(unsafe.Offsetof(Scope{}.published) + stdctx.EndedAt),
		layout.ScopeLazy:         uint16(unsafe.Offsetof(Scope{}.published) + stdctx.LazyAt),
		layout.ScopeSize:         uint16(unsafe.Sizeof(Scope{})),

		layout.TimerWhen:   uint16(unsafe.Offsetof(timer{}.When)),
		layout.TimerWorker: uint16(unsafe.Offsetof(timer{}.Worker)),
		layout.TimerSize:   uint16(unsafe.Sizeof(timer{})),

		layout.NestedID:   uint16(unsafe.Offsetof(gid.Nesting[Task]{}.ID)),
		layout.NestedG:    uint16(unsafe.Offsetof(gid.Nesting[Task]{}.Record)),
		layout.NestedIn:   uint16(unsafe.Offsetof(gid.Nesting[Task]{}.In)),
		layout.NestedSize: uint16(unsafe.Sizeof(gid.Nesting[Task]{})),

		layout.WorkerSelection: uint16(unsafe.Offsetof(worker{}.selection)),
		layout.TaskSite:        uint16(unsafe.Offsetof(Task{}.site)),
		layout.LoopConns:       uint16(unsafe.Offsetof(Loop{}.conns)),
		layout.LoopServers:     uint16(unsafe.Offsetof(Loop{}.servers)),

		layout.ServerSelf:   uint16(unsafe.Offsetof(kernel.Server{}.Self)),
		layout.ServerName:   uint16(unsafe.Offsetof(kernel.Server{}.Name)),
		layout.ServerCounts: uint16(unsafe.Offsetof(kernel.Server{}.Accepted)),
		layout.ServerSize:   uint16(unsafe.Sizeof(kernel.Server{})),

		layout.SelectionPlaces: uint16(unsafe.Offsetof(selection{}.places)),
		layout.SelectionTimer:  uint16(unsafe.Offsetof(selection{}.timer)),
		layout.SelectionSize:   uint16(unsafe.Sizeof(selection{})),

		layout.PlaceList: uint16(unsafe.Offsetof(place{}.list)),
		layout.PlaceWhat: uint16(unsafe.Offsetof(place{}.why) + unsafe.Offsetof(Reason{}.What)),
		layout.PlaceOn:   uint16(unsafe.Offsetof(place{}.why) + unsafe.Offsetof(Reason{}.On)),
		layout.PlaceSize: uint16(unsafe.Sizeof(place{})),

		layout.LoopStill:      uint16(unsafe.Offsetof(Loop{}.still) + unsafe.Offsetof(stillness{}.since)),
		layout.LoopStillSteps: uint16(unsafe.Offsetof(Loop{}.still) + unsafe.Offsetof(stillness{}.steps)),

		layout.MutexName:    uint16(unsafe.Offsetof(Mutex{}.Name)),
		layout.MutexWaiters: uint16(unsafe.Offsetof(Mutex{}.waiters)),

		layout.ReadwriteName:    uint16(unsafe.Offsetof(RWMutex{}.Name)),
		layout.ReadwriteWriting: uint16(unsafe.Offsetof(RWMutex{}.writing)),
		layout.ReadwriteWriter:  uint16(unsafe.Offsetof(RWMutex{}.writer)),
		layout.ReadwriteReaders: uint16(unsafe.Offsetof(RWMutex{}.readers)),
		layout.ReadwriteHead:    uint16(unsafe.Offsetof(RWMutex{}.line) + unsafe.Offsetof(line{}.head)),
		layout.ReadwriteSize:    uint16(unsafe.Sizeof(RWMutex{})),

		layout.RunList: uint16(unsafe.Offsetof(run{}.list)),
		layout.RunNext: uint16(unsafe.Offsetof(run{}.next)),
		layout.RunSize: uint16(unsafe.Sizeof(run{})),

		layout.ScopeRest: uint16(unsafe.Offsetof(Scope{}.extra)),

		layout.RestLimit: uint16(unsafe.Offsetof(scopeExtra{}.limit)),
		layout.RestHeld:  uint16(unsafe.Offsetof(scopeExtra{}.held)),
		layout.RestSize:  uint16(unsafe.Sizeof(scopeExtra{})),

		layout.ExtraRenames: uint16(unsafe.Offsetof(taskExtra{}.renames)),

		layout.LoopFlight: uint16(unsafe.Offsetof(Loop{}.flight) + unsafe.Offsetof(recorder{}.record)),

		layout.OffloadList: uint16(unsafe.Offsetof(offloadCall{}.list)),
		layout.OffloadUser: uint16(unsafe.Offsetof(offloadCall{}.user)),
		layout.OffloadID:   uint16(unsafe.Offsetof(offloadCall{}.id)),
		layout.OffloadG:    uint16(unsafe.Offsetof(offloadCall{}.g)),
		layout.OffloadSize: uint16(unsafe.Sizeof(offloadCall{})),

		layout.WorkerUnder: uint16(unsafe.Offsetof(worker{}.under)),
	},
}

// This keeps the linker from dropping the table. A table that points to itself cannot be
// initialised before the program runs.
func init() { layoutTable.Self = &layoutTable }

// marker is named by a reader to prove that it reads the function tables right.
func marker() {}

var markerAt = reflect.ValueOf(marker).Pointer()
