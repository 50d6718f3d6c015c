package inspect

// The description of the tasks that were read: their names and functions, the
// scopes that they are in, and what they wait for.

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// describe fills in what is known of the tasks.
func (r *reader) describe(head record) {
	for _, s := range r.tasks {
		s.info.ID, s.info.Parent = s.task.uint64(layout.TaskID), s.task.uint64(layout.TaskParent)
		s.info.Site = r.site(s.task)
	}
	r.words = make(map[string]string)
	r.name()
	r.readScopes()
	timers := r.timers(head)
	lists := sized(&r.shelves().places, len(r.tasks))
	for i, s := range r.tasks {
		lists[i] = s.list
	}
	labels := r.labels(lists)
	kinds := r.kept.kinds // of what their names are, until labels is called again
	what := r.reasons()
	r.readHolds(r.tasks, func(i int) string { return what[i] })
	r.limits()
	for i, s := range r.tasks {
		t := s.info
		t.State = states[s.task.byte(layout.TaskState)]
		t.Age = time.Duration(r.now - int64(s.task.uint64(layout.TaskBorn)))
		r.place(s)
		if s.worker.b == nil {
			continue
		}
		t.Switches = s.worker.uint64(layout.WorkerSwitches)
		r.cost(s, head)
		if s.task.byte(layout.TaskState) == stateWaiting {
			t.Since = time.Duration(r.now - int64(s.worker.uint64(layout.WorkerSince)))
			t.What, t.Due, t.outer = what[i], timers[i], r.outer(s)
			t.Elsewhere = taskElsewhere(what[i], labels[i])
			if s.list.b != nil {
				t.Thing = s.thing(kinds[i])
			}
			t.Abandoned = s.hold.ended
		}
		if t.What != limited {
			t.Waiting = labels[i]
		}
	}
	// What a task waits for may be another, whose name is needed.
	waits := sized(&r.kept.waits, len(r.tasks))[:0]
	for i, s := range r.tasks {
		if s.info.waits() {
			waits = append(waits, r.awaited(s, labels[i]))
		}
	}
	r.meet(waits)
	next := 0
	for _, s := range r.tasks {
		if s.info.waits() {
			s.info.Waiting = r.shared(r.waiting(s, waits[next]))
			next++
		}
	}
	r.selections()
}

// thing returns what is the same for all tasks that wait for the same thing as s: where its name
// stands, if that is a string, or else their list. A Semaphore has a list for each of them, and an
// RWMutex several.
func (s *seen) thing(kind string) uint64 {
	if _, at := s.list.pair(layout.ListOf); kind == "*string" && at != 0 {
		return at
	}
	return s.worker.uint64(layout.WorkerList)
}

// readScopes reads the scopes that the tasks are in.
func (r *reader) readScopes() {
	r.scopes = make(map[uint64]record)
	defer r.findOwners()
	var todo []uint64
	want := func(at uint64) {
		if _, ok := r.scopes[at]; at != 0 && !ok {
			r.scopes[at] = record{}
			todo = append(todo, at)
		}
	}
	for _, s := range r.tasks {
		want(s.task.uint64(layout.TaskOwner))
		if s.worker.b != nil && s.worker.uint64(layout.WorkerInner) != r.own(s.addr) {
			want(s.worker.uint64(layout.WorkerInner))
		}
		if s.worker.b != nil && s.worker.has(layout.WorkerUnder) && s.worker.uint64(layout.WorkerUnder) != r.own(s.addr) {
			want(s.worker.uint64(layout.WorkerUnder))
		}
	}
	for range maxScopes {
		if len(todo) == 0 {
			return
		}
		addrs := todo
		todo = nil
		for i, scope := range r.many(addrs, r.size(layout.ScopeSize)) {
			r.scopes[addrs[i]] = scope
			// Above a scope stands another that the same task opened, or the task's own.
			if scope.b != nil {
				if host := scope.uint64(layout.ScopeHost); r.ring.at(host) != 0 && scope.uint64(layout.ScopeParent) != r.own(host) {
					want(scope.uint64(layout.ScopeParent))
				}
			}
		}
	}
}

// findOwners finds the tasks that have opened the scopes which own tasks. What stands
// where a task stood when the ring was walked may be another by now, so its number is
// read again.
func (r *reader) findOwners() {
	r.owners = make(map[uint64]*ScopeID)
	var scopes, hosts []uint64
	for _, s := range r.tasks {
		at := s.task.uint64(layout.TaskOwner)
		if _, known := r.owners[at]; !known {
			r.owners[at] = nil
			if scope := r.scopes[at]; scope.b != nil {
				scopes, hosts = append(scopes, at), append(hosts, scope.uint64(layout.ScopeHost))
			}
		}
	}
	for i, id := range r.numbers(hosts) {
		if id != 0 && id == r.ring.at(hosts[i]) {
			r.owners[scopes[i]] = &ScopeID{id, len(r.opened(hosts[i], scopes[i]))}
		}
	}
}

// own returns the address of the own scope of the task at an address.
func (r *reader) own(task uint64) uint64 { return task + uint64(r.layout.offsets[layout.TaskScope]) }

// opened returns the addresses of the scopes that the task at an address has opened
// and not left, the outermost first, down to the one at the address inner.
func (r *reader) opened(task, inner uint64) []uint64 {
	var out []uint64
	for at := inner; at != 0 && at != r.own(task) && len(out) < maxScopes; {
		scope := r.scopes[at]
		if scope.b == nil || scope.uint64(layout.ScopeHost) != task {
			break
		}
		out = append(out, at)
		at = scope.uint64(layout.ScopeParent)
	}
	slices.Reverse(out)
	return out
}

// place says where s stands among the scopes.
func (r *reader) place(s *seen) {
	t := s.info
	t.Cancelled = goinspect.Uint64(s.task.b, r.layout.offsets[layout.TaskScope]+r.layout.offsets[layout.ScopeCancellation]) != 0
	t.Owner = r.owners[s.task.uint64(layout.TaskOwner)]
	if s.worker.b == nil {
		return
	}
	for _, at := range r.opened(s.addr, s.worker.uint64(layout.WorkerInner)) {
		scope := r.scopes[at]
		out := Scope{Kind: "group", Tasks: int(int32(scope.uint32(layout.ScopeTasks))), Cancelled: scope.uint64(layout.ScopeCancellation) != 0}
		if scope.byte(layout.ScopeShield) != 0 {
			out.Kind = "shield"
		}
		if shown := scope.uint64(layout.ScopeLazy); shown != 0 {
			var b [8]byte
			if r.program.Memory().Read(shown, b[:]) == nil && goinspect.Uint64(b[:], 0) != 0 {
				out.Left = time.Duration(int64(goinspect.Uint64(b[:], 0)) - r.now)
				if out.Kind == "group" {
					out.Kind = "timeout"
				}
			}
		}
		t.Scopes = append(t.Scopes, out)
	}
}

// outer reports whether the cancellation of the scope that s opened last does not end its wait.
// That of a wait with a context of the standard library is a scope in between.
func (r *reader) outer(s *seen) bool {
	under, inner := s.worker.uint64(layout.WorkerUnder), s.worker.uint64(layout.WorkerInner)
	if !s.worker.has(layout.WorkerUnder) || under == inner {
		return false
	}
	scope := r.scopes[under]
	return scope.b == nil || scope.uint64(layout.ScopeHost) != s.addr || scope.uint64(layout.ScopeParent) != inner
}

// timers returns for each task how long it is until its timer, less than 0 if that is late; 0 if
// it has none.
func (r *reader) timers(head record) []time.Duration {
	at, n := head.pair(layout.LoopTimers)
	addrs := r.column(len(r.tasks))
	for i, s := range r.tasks {
		if s.worker.b == nil {
			continue
		}
		if place := uint64(s.worker.uint32(layout.WorkerTimer)); place > 0 && place <= n {
			addrs[i] = at + (place-1)*uint64(r.size(layout.TimerSize))
		}
	}
	out := make([]time.Duration, len(r.tasks))
	r.each(addrs, r.size(layout.TimerSize), func(i int, e record) {
		if e.uint64(layout.TimerWorker) == r.tasks[i].task.uint64(layout.TaskWorker) {
			if out[i] = time.Duration(int64(e.uint64(layout.TimerWhen)) - r.now); out[i] == 0 {
				out[i] = 1 // 0 says that there is no timer
			}
		}
	})
	return out
}

// reasons returns for each task the word that says what it waits for.
func (r *reader) reasons() []string {
	addrs, lengths := r.column(len(r.tasks)), r.column(len(r.tasks))
	for i, s := range r.tasks {
		if s.worker.b != nil && s.task.byte(layout.TaskState) == stateWaiting {
			addrs[i], lengths[i] = s.worker.pair(layout.WorkerWhat)
		}
	}
	return r.strings(addrs, lengths)
}

// labels returns for each list what the thing that its tasks wait for is called.
func (r *reader) labels(lists []record) []string {
	kinds := sized(&r.shelves().kinds, len(lists))
	things := r.column(len(lists))
	for i, l := range lists {
		if l.b == nil {
			continue
		}
		if kind, at := l.pair(layout.ListOf); kind != 0 {
			kinds[i], things[i] = r.program.TypeName(kind), at
		}
	}
	// All kinds that are known begin with a string or a slice of bytes; behind that
	// stands a port, or the number of a task.
	addrs, lengths := r.column(len(lists)), r.column(len(lists))
	ports := r.column(len(lists))
	for i := range kinds {
		switch kinds[i] {
		case "*net.TCPAddr", "*net.UDPAddr":
			ports[i] = things[i] + 24
		case remote:
			ports[i] = things[i] + 16
		case "*string", "*net.UnixAddr":
		default:
			things[i] = 0
		}
	}
	r.each(things, 16, func(i int, b record) { addrs[i], lengths[i] = goinspect.Uint64(b.b, 0), goinspect.Uint64(b.b, 8) })
	at := r.column(len(ports))
	copy(at, ports)
	clear(ports)
	r.each(at, 8, func(i int, b record) { ports[i] = goinspect.Uint64(b.b, 0) })
	out := r.strings(addrs, lengths)
	for i := range out {
		switch kinds[i] {
		case "*string":
			if out[i] != "" {
				out[i] = strconv.Quote(out[i])
			}
		case "*net.TCPAddr", "*net.UDPAddr":
			out[i] = r.address(addrs[i], lengths[i], ports[i])
		case remote:
			if ports[i] != 0 {
				out[i] += " #" + strconv.FormatUint(ports[i], 10)
			}
		}
	}
	return out
}

// remote is what happens on another loop: a kernel.Remote.
const remote = "*kernel.Remote"

// address reads an IP address and returns it with its port.
func (r *reader) address(at, n, port uint64) string {
	if n != 4 && n != 16 {
		return ""
	}
	ip := make(net.IP, n)
	if r.program.Memory().Read(at, ip) != nil {
		return ""
	}
	return net.JoinHostPort(ip.String(), strconv.FormatUint(port&0xffff, 10))
}

// ofLoop are the words for waits for another loop.
var ofLoop = []string{"call", "another loop"}

// taskElsewhere returns the task of another loop that is needed by a wait of a kind, for
// what is called label; nil if none is known.
func taskElsewhere(what, label string) *TaskID {
	if !slices.Contains(ofLoop, what) {
		return nil
	}
	i := strings.LastIndex(label, " #")
	if i <= 0 { // each loop has a name
		return nil
	}
	id, err := strconv.ParseUint(label[i+2:], 10, 64)
	if err != nil {
		return nil
	}
	return &TaskID{label[:i], id}
}
