// Package record keeps the events of a run: what was chosen, what ran, and when.
//
// The law: two runs that did the same have the same trace.
//
// To add an event, give it a kind and words in event.go, and a row in package picture.
package record

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

// maxKept is how many events a trace keeps. Later ones are only in its hash.
const maxKept = 1 << 18

// A Trace sums up a run. One with Keep set remembers the events; one that
// follows another finds the first event that differs. A nil Trace records nothing.
type Trace struct {
	Hash    uint64
	Count   int
	Keep    bool
	Draws   bool // the events are for a picture: stacks and values are kept
	Events  []Event
	Follows *Trace
	Payload func(data []byte) string // puts a message into words; nil: it is quoted
	differs string

	outside int  // how many goroutines may come back in any order; see Waits
	chance  bool // the run is not to be compared
}

// Add adds an event.
func (t *Trace) Add(e Event) {
	if t == nil || t.deaf() {
		return
	}
	t.Hash = choice.Mix(choice.Mix(t.Hash^uint64(e.Now))^e.Who) ^ uint64(e.N)<<8 ^ uint64(e.Kind)
	for i := range len(e.What) {
		t.Hash = (t.Hash ^ uint64(e.What[i])) * 0x9e3779b97f4a7c15 // mixed by the next event
	}
	if t.Keep && t.Count < maxKept {
		t.Events = append(t.Events, e)
	}
	if t.Follows != nil && t.differs == "" && t.Count < maxKept {
		t.compare(&e)
	}
	t.Count++
}

// deaf reports whether nothing is added any more.
func (t *Trace) deaf() bool { return t.outside > 1 && !t.Draws }

// Waits is called when a task waits for what, while the loop has back functions that were
// offloaded and whose results it has not taken. A goroutine that receives for a task may be
// outstanding although its task waits no longer, and which of it and another one comes back
// first is chance; and while a busy loop takes what is back, so is the turn. So nothing more
// is recorded from the second wait for a channel on, or from the first one if something is
// offloaded then, or just back.
func (t *Trace) Waits(what string, back int) {
	if t == nil {
		return
	}
	if what == "channel" {
		t.outside += 1 + back
	} else if what == "offload" && t.outside > 0 {
		t.outside++
	}
}

// ByChance notes that the runtime has a part in what the run does: it is not compared.
func (t *Trace) ByChance() {
	if t != nil {
		t.chance = true
	}
}

// compare notes whether the next event differs from that of the run that t follows.
func (t *Trace) compare(e *Event) {
	events := t.Follows.Events
	if t.Count >= len(events) {
		t.differs = fmt.Sprintf("at event %d in the first run the end had come, but in the second %v", t.Count+1, *e)
	} else if first := &events[t.Count]; !first.same(e) {
		t.differs = fmt.Sprintf("at event %d in the first run %v, but in the second %v", t.Count+1, *first, *e)
	}
}

// Choose adds that a task was chosen among n, or passed over.
//
// It is a function of its own because an event is large: what chooses runs on the stacks of
// tasks, which begin small, and most runs have no trace.
//
//go:noinline
func (t *Trace) Choose(now int64, k Kind, who uint64, n int) {
	t.Add(Event{Now: now, Who: who, N: int32(n), Kind: k})
}

// Difference says where t differs from the trace that it follows, or nothing.
func (t *Trace) Difference() string {
	f := t.Follows
	switch {
	case t.chance || f.chance:
		return ""
	case t.differs != "":
		return t.differs
	case t.Count < min(f.Count, maxKept):
		return fmt.Sprintf("at event %d in the first run %v, but in the second the end had come", t.Count+1, f.Events[t.Count])
	case t.Hash != f.Hash:
		return fmt.Sprintf("the runs differ somewhere after event %d", maxKept)
	}
	return ""
}

// Sum returns the number of events and their hash. compared is false if the runtime had a part
// in what the run does.
func (t *Trace) Sum() (sum string, compared bool) {
	if t.chance {
		return "chance", false
	}
	return fmt.Sprintf("%d %016x", t.Count, t.Hash), true
}

// Part returns the place of the first event in which two runs differ that were both drawn, or -1.
func Part(a, b *Trace) int {
	for i := range a.Events {
		if i == len(b.Events) || !a.Events[i].same(&b.Events[i]) || a.Events[i].Sum != b.Events[i].Sum {
			return i
		}
	}
	return -1
}

// explain adds the bytes of the last event to its row in a picture.
func (t *Trace) explain(data []byte) {
	if !t.Draws || len(t.Events) == 0 {
		return
	}
	t.Events[len(t.Events)-1].Data = t.words(data)
}

// textMost is how much of a message or a value a picture has.
const textMost = 200

// words puts a message into words.
func (t *Trace) words(data []byte) (text string) {
	if t.Payload != nil {
		defer func() {
			if v := recover(); v != nil {
				text = fmt.Sprintf("%q, of which Config.Payload panicked: %v", data[:min(len(data), textMost)], v)
			}
		}()
		if text = t.Payload(data); text != "" {
			return short(text)
		}
	}
	text = fmt.Sprintf("%q", data[:min(len(data), textMost)])
	if len(data) > textMost {
		text += fmt.Sprintf(" and %d more bytes", len(data)-textMost)
	}
	return text
}

// Shows reports whether a picture is to be drawn.
func (t *Trace) Shows() bool { return t != nil && t.Draws }

// Show adds an event that only a picture has, with a value in words.
func (t *Trace) Show(e Event, v any) {
	e.Data = text(v)
	t.Add(e)
}

// text returns a value in words: those of its String method, if it has one.
func text(v any) string { return short(fmt.Sprintf("%+v", v)) }

// short cuts a text.
func short(s string) string {
	if len(s) <= textMost {
		return s
	}
	return strings.ToValidUTF8(s[:textMost], "") + "…"
}

// StackHere returns the stack of the task that is about to wait, above the function that
// calls it, if a picture is to be drawn.
func (t *Trace) StackHere() *[]uintptr {
	if t == nil || !t.Draws {
		return nil
	}
	pcs := make([]uintptr, 24)
	pcs = pcs[:runtime.Callers(3, pcs)]
	return &pcs
}
