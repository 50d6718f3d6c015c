package timeline

import (
	"encoding/json"
	"strconv"
	"time"
)

// A Loop is one loop's part of a File. Its methods are called one at a time. Times
// never go back, and may be those of a simulated clock.
type Loop struct {
	file    *File
	pid     uint64
	begun   time.Duration // when the loop was opened, on the file's clock
	first   time.Time     // the loop's clock at that moment
	tasks   map[uint64]*task
	running uint64  // the task that has an open slice; 0 if none
	ending  *ending // the end of that slice, if its task has ended
	called  bool    // thread 0 has its name
}

// task is what is kept of a live task.
type task struct {
	thread string // how its thread is named
	slice  []byte // the name of its slices, as JSON
	flow   uint64 // the arrow that ends at its next step; 0 if there is none
}

// ending is the end of a task's last slice. It is written with the next event,
// because the tasks that wait for this one are woken after it has ended, and an arrow
// must begin within a slice.
type ending struct {
	failure string
	at      time.Time
}

func newLoop(f *File) *Loop {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Loop{file: f, pid: uint64(f.pids), begun: time.Since(f.start), tasks: make(map[uint64]*task)}
}

// Begin names the loop and says what its clock shows.
func (l *Loop) Begin(name string, at time.Time) {
	l.first = at
	l.file.mu.Lock()
	defer l.file.mu.Unlock()
	l.metadata("process_name", 0, name)
}

// Close ends the loop's part.
func (l *Loop) Close() error {
	l.file.mu.Lock()
	l.writeEnding()
	l.file.mu.Unlock()
	return l.file.close()
}

// Started records a new task: the name of its thread, the name of its slices, and the
// task that started it, 0 if none did.
func (l *Loop) Started(id uint64, thread, slice string, by uint64, at time.Time) {
	l.file.mu.Lock()
	defer l.file.mu.Unlock()
	t := l.task(id, thread, slice)
	l.event("i", id, at, func(b []byte) []byte {
		b = append(b, `,"s":"t","name":"started","args":{"func":`...)
		b = append(b, t.slice...)
		b = append(b, `,"by":`...)
		b = strconv.AppendUint(b, by, 10)
		return append(b, '}')
	})
}

// Stepped begins a slice. The names may differ from those before.
func (l *Loop) Stepped(id uint64, thread, slice string, at time.Time) {
	l.file.mu.Lock()
	defer l.file.mu.Unlock()
	t := l.task(id, thread, slice)
	l.running = id
	l.event("B", id, at, func(b []byte) []byte {
		return append(append(b, `,"name":`...), t.slice...)
	})
	if flow := t.flow; flow != 0 {
		t.flow = 0
		l.event("f", id, at, func(b []byte) []byte {
			return appendFlow(append(b, `,"bp":"e"`...), flow)
		})
	}
}

// Parked ends the task's slice: it waits for something.
func (l *Loop) Parked(id uint64, why string, at time.Time) {
	l.file.mu.Lock()
	defer l.file.mu.Unlock()
	l.endSlice(id, "waits for", why, at)
}

// Woken records the end of a wait, and the task that ended it, 0 if none did.
func (l *Loop) Woken(id, by uint64, at time.Time) {
	l.file.mu.Lock()
	defer l.file.mu.Unlock()
	t := l.tasks[id]
	if t == nil {
		return
	}
	if by == 0 || by != l.running {
		l.writeEnding()
		l.event("i", id, at, func(b []byte) []byte { return append(b, `,"s":"t","name":"woken"`...) })
		return
	}
	l.file.flows++
	t.flow = l.file.flows
	if l.ending != nil {
		at = l.ending.at
	}
	l.event("s", by, at, func(b []byte) []byte { return appendFlow(b, t.flow) })
}

// Ended ends the task's last slice with its error, "" if there is none.
func (l *Loop) Ended(id uint64, failure string, at time.Time) {
	l.file.mu.Lock()
	defer l.file.mu.Unlock()
	if failure == "" {
		failure = "nil"
	}
	l.writeEnding()
	delete(l.tasks, id)
	if l.running == id {
		l.ending = &ending{failure, at}
	}
}

// Called records a callback that ran.
func (l *Loop) Called(from, to time.Time) {
	l.file.mu.Lock()
	defer l.file.mu.Unlock()
	l.writeEnding()
	if !l.called {
		l.called = true
		l.metadata("thread_name", 0, "callbacks")
	}
	l.event("X", 0, from, func(b []byte) []byte {
		return append(appendMicroseconds(append(b, `,"dur":`...), to.Sub(from)), `,"name":"callback"`...)
	})
}

// writeEnding writes the end of a slice that has ended, if it is not written.
func (l *Loop) writeEnding() {
	if e := l.ending; e != nil {
		l.ending = nil
		l.endSlice(l.running, "returned", e.failure, e.at)
	}
}

func (l *Loop) endSlice(id uint64, what, text string, at time.Time) {
	if l.running != id {
		return
	}
	l.running = 0
	l.event("E", id, at, func(b []byte) []byte {
		b = append(append(b, `,"args":{"`...), what...)
		b = append(append(b, `":`...), quoted(text)...)
		return append(b, '}')
	})
}

// task returns what is kept of a task. It writes the name of the thread if that is
// new.
func (l *Loop) task(id uint64, thread, slice string) *task {
	l.writeEnding()
	t := l.tasks[id]
	if t == nil {
		t = new(task)
		l.tasks[id] = t
	}
	if t.thread != thread {
		t.thread, t.slice = thread, quoted(slice)
		l.metadata("thread_name", id, thread)
	}
	return t
}

func (l *Loop) metadata(what string, tid uint64, name string) {
	l.file.event("M", l.pid, tid, 0, func(b []byte) []byte {
		b = append(append(b, `,"name":"`...), what...)
		b = append(append(b, `","args":{"name":`...), quoted(name)...)
		return append(b, '}')
	})
}

func (l *Loop) event(kind string, tid uint64, at time.Time, write func(b []byte) []byte) {
	l.file.event(kind, l.pid, tid, l.begun+at.Sub(l.first), write)
}

func appendFlow(b []byte, id uint64) []byte {
	b = append(b, `,"cat":"wake","name":"wake","id":`...)
	return strconv.AppendUint(b, id, 10)
}

// quoted returns s as JSON.
func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return []byte(`""`)
	}
	return b
}
