package sim

// This file draws a run: who did what in which order, who woke whom, which messages
// went where, and the choices that mattered. A row is an event, from the top to the
// bottom; a column is a task, or in a cluster a host. Virtual time stands still for
// most events, so it is written beside the rows and not drawn to scale.

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"time"
)

// drawnMax is how many events a picture has at most. It shows the last ones, because the
// failure is there.
const drawnMax = 2000

// page is the picture without its data: one file that needs no others.
//
//go:embed timeline.html
var page []byte

// A picture is what the page shows. The field names are those in timeline.html.
type picture struct {
	Title   string   `json:"title"`
	Failure string   `json:"failure"`
	Replay  string   `json:"replay"`
	Left    int      `json:"left"` // events before the first row
	Columns []column `json:"columns"`
	Rows    []row    `json:"rows"`
	Choices []string `json:"choices"`
}

type column struct {
	Name string `json:"name"`
	who  uint64
}

// A row is one event.
type row struct {
	At     string `json:"at"`
	Column int    `json:"column"`
	Kind   string `json:"kind"`
	Text   string `json:"text"`
	From   int    `json:"from"`             // the row in which an arrow begins that ends here, or -1
	Source int    `json:"source"`           // the column of that row
	Detail string `json:"detail,omitempty"` // what a click shows
	Choice int    `json:"choice,omitempty"` // the number of the choice that made it so
	now    int64
}

// callers returns the stack of the task that is about to wait.
func callers() *[]uintptr {
	pcs := make([]uintptr, 24)
	pcs = pcs[:runtime.Callers(3, pcs)]
	return &pcs
}

// stackText writes a stack without Rondo's own calls.
func stackText(pcs *[]uintptr) string {
	if pcs == nil {
		return ""
	}
	var b strings.Builder
	for frames := runtime.CallersFrames(*pcs); ; {
		f, more := frames.Next()
		own := strings.HasPrefix(f.Function, "github.com/rondo-go/rondo.") || strings.HasPrefix(f.Function, "runtime.") ||
			strings.HasPrefix(f.Function, "iter.") || f.Function == ""
		if !own {
			fmt.Fprintf(&b, "%s\n    %s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}

// A drawing is a picture that is being made.
type drawing struct {
	picture
	account *account
	hosts   bool
	columns map[uint64]int
	flights map[flight][]int // the rows of messages that have not arrived
	last    map[uint64]int   // the last row of each column's who
}

// A flight is a way of messages: between whom, and of which sort.
type flight struct {
	way  uint64
	what string
}

// draw makes the picture of a run that has ended.
func (a *account) draw(title, failure, replay string) *picture {
	d := &drawing{
		picture: picture{Title: title, Failure: failure, Replay: replay, Choices: a.words()},
		account: a, columns: make(map[uint64]int), flights: make(map[flight][]int), last: make(map[uint64]int),
	}
	events := a.run.trace.events
	for _, e := range events {
		d.hosts = d.hosts || e.kind == hosted
	}
	if n := len(events); n > drawnMax {
		d.Left = n - drawnMax
	}
	next := 0
	for i, e := range events {
		for ; next < len(a.notes) && a.notes[next].event <= i; next++ {
			if i >= d.Left {
				d.choice(next, a.notes[next])
			}
		}
		if i >= d.Left {
			d.event(e)
		}
	}
	for ; next < len(a.notes); next++ {
		d.choice(next, a.notes[next])
	}
	return &d.picture
}

// column returns the column of a task, or of its host in a cluster.
func (d *drawing) column(who uint64) int {
	if d.hosts {
		who >>= 32
	}
	c, ok := d.columns[who]
	if !ok {
		c = len(d.Columns)
		d.columns[who] = c
		name := d.account.name(who)
		if d.hosts {
			name = d.account.host(who)
		}
		d.Columns = append(d.Columns, column{Name: name, who: who})
	}
	return c
}

func (d *drawing) add(who uint64, r row) int {
	r.Column = d.column(who)
	if r.From >= 0 {
		r.Source = d.Rows[r.From].Column
	}
	if r.At == "" {
		r.At = time.Duration(r.now - origin).String()
	}
	d.Rows = append(d.Rows, r)
	d.last[who] = len(d.Rows) - 1
	return len(d.Rows) - 1
}

// choice draws one of the choices that matter.
func (d *drawing) choice(i int, n note) {
	d.add(d.account.where(n), row{
		At: n.at.String(), Kind: "choice", From: -1, Choice: i + 1,
		Text: fmt.Sprintf("%d. %s", i+1, d.account.describe(n)),
	})
}

// event draws one event of the trace.
func (d *drawing) event(e event) {
	r := row{now: e.now, From: -1, Detail: e.data + stackText(e.stack)}
	who := e.who
	by := ""
	if d.hosts && e.who&0xffffffff != 0 && e.kind <= drew {
		by = d.account.name(e.who) + " "
	}
	switch e.kind {
	case started:
		r.Kind, r.Text = "start", by+"starts"
	case parked:
		r.Kind, r.Text = "wait", by+"waits for "+e.what
		if e.what == "yield" {
			r.Kind, r.Text = "yield", by+"yields"
		}
	case woken:
		r.Kind, r.Text = "wake", by+"is woken"
		if from, ok := d.last[e.by]; ok && e.by != 0 {
			r.From, r.Text = from, r.Text+" by "+d.account.name(e.by)
		}
	case ended:
		r.Kind, r.Text = "end", by+"ends"
		if e.n != 0 {
			r.Text = by + "ends with an error"
		}
	case passed:
		r.Kind, r.Text = "late", by+"is ready but does not run"
	case drew:
		r.Kind, r.Text = "draw", fmt.Sprintf("%sChoose returns %d", by, e.n)
	case hosted:
		r.Kind, r.Text = "host", e.what
	case struck:
		r.Kind, r.Text = "fault", e.what
		if to := e.who & 0xffffffff; to != 0 {
			r.Text += ", to " + d.account.host(to)
		}
	case sent:
		f := flight{e.who, e.what}
		r.Kind, r.Text = "send", fmt.Sprintf("%s, %d bytes, to %s", e.what, e.n, d.account.host(e.who&0xffffffff))
		d.flights[f] = append(d.flights[f], d.add(who, r))
		return
	case arrived:
		f := flight{e.who, e.what}
		r.Kind, r.Text = "arrive", fmt.Sprintf("%s, %d bytes, from %s", e.what, e.n, d.account.host(e.who>>32))
		who = e.who << 32
		if rows := d.flights[f]; len(rows) > 0 {
			r.From, r.Detail = rows[0], d.Rows[rows[0]].Detail
			d.flights[f] = rows[1:]
		}
	default:
		return // jumped, chosen, stepped and called show in what follows
	}
	d.add(who, r)
}

// html returns the page with the picture in it.
func (p *picture) html() ([]byte, error) {
	data, err := json.Marshal(p) // it escapes what could end the script
	if err != nil {
		return nil, err
	}
	return bytes.Replace(page, []byte("/*data*/null"), data, 1), nil
}

// chrome returns the picture as trace events for ui.perfetto.dev and chrome://tracing: a
// wait is a slice, everything else a mark.
func (p *picture) chrome() ([]byte, error) {
	type object = map[string]any
	var all []object
	for i, c := range p.Columns {
		all = append(all, object{"ph": "M", "name": "thread_name", "pid": 1, "tid": i + 1, "args": object{"name": c.Name}})
	}
	waits := make(map[int]int) // the row in which the column began to wait
	us := func(r row) float64 { return float64(r.now-origin) / 1e3 }
	for i, r := range p.Rows {
		if r.Kind == "choice" {
			at, _ := time.ParseDuration(r.At)
			r.now = origin + int64(at)
		}
		base := object{"pid": 1, "tid": r.Column + 1, "ts": us(r), "name": r.Text}
		switch from, waited := waits[r.Column]; {
		case r.Kind == "wait":
			waits[r.Column] = i
			continue
		case r.Kind == "wake" && waited:
			delete(waits, r.Column)
			since := us(p.Rows[from])
			all = append(all, object{"ph": "X", "pid": 1, "tid": r.Column + 1, "ts": since, "dur": us(r) - since, "name": p.Rows[from].Text,
				"args": object{"stack": p.Rows[from].Detail}})
		}
		base["ph"], base["s"] = "i", "t"
		if r.Kind == "choice" {
			base["s"] = "g"
		}
		all = append(all, base)
		if r.From >= 0 {
			all = append(all,
				object{"ph": "s", "id": i, "pid": 1, "tid": r.Source + 1, "ts": us(p.Rows[r.From]), "name": r.Text, "cat": "arrow"},
				object{"ph": "f", "bp": "e", "id": i, "pid": 1, "tid": r.Column + 1, "ts": us(r), "name": r.Text, "cat": "arrow"})
		}
	}
	return json.Marshal(object{"traceEvents": all})
}
