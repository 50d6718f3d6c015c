package picture

// A drawing shows who did what in which order, who woke whom, which messages went where, and
// the choices that mattered. A row is an event, from the top to the bottom; a column is a
// task, or in a cluster a host. Virtual time stands still for most events, so it is written
// beside the rows and not drawn to scale.
//
// The law: the page begins with the rows that matter (path.go), and folds the others.

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// DrawnMax is how many rows a picture has at most, the folded ones among them, unless more matter:
// those that matter, and those that are nearest to them.
const DrawnMax = 2000

// A Picture is what the page shows. The field names are those in picture.html.
type Picture struct {
	Title   string   `json:"title"`
	Failure string   `json:"failure"`
	Replay  string   `json:"replay"`
	Left    int      `json:"left"` // events that have no row
	Columns []column `json:"columns"`
	Rows    []Row    `json:"rows"`
	Choices []string `json:"choices"`
	State   []string `json:"state"` // at the failure
}

type column struct {
	Name string `json:"name"`
	who  uint64
}

// A Row is one event.
type Row struct {
	At     string `json:"at"`
	Column int    `json:"column"`
	Kind   string `json:"kind"`
	Text   string `json:"text"`
	From   int    `json:"from"`             // the row in which an arrow begins that ends here, or -1
	Source int    `json:"source"`           // the column of that row
	Detail string `json:"detail,omitempty"` // what a click shows
	Choice int    `json:"choice,omitempty"` // the number of the choice that made it so
	Main   bool   `json:"main,omitempty"`   // it is not folded
	Gap    int    `json:"gap,omitempty"`    // how many events between the row before and this one have none
	now    int64
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
	Picture
	account *Account
	hosts   bool
	columns map[uint64]int
	shown   map[string]string // the last value of each state of a host
	graph
}

// Draw makes the picture of a run that has ended.
func (a *Account) Draw(title, failure, replay string) *Picture {
	d := &drawing{
		Picture: Picture{Title: title, Failure: failure, Replay: replay, Choices: a.Words(), State: a.State()},
		account: a, columns: make(map[uint64]int), shown: make(map[string]string), graph: newGraph(),
	}
	events := a.trace.Events
	for _, e := range events {
		d.hosts = d.hosts || e.Kind == record.Hosted
	}
	failed := mark{event: len(events), at: a.clock()}
	if a.failed {
		failed = a.failure
	}
	next := 0
	for i := 0; i <= len(events); i++ {
		for ; next < len(a.notes) && (a.notes[next].event <= i || i == len(events)); next++ {
			d.choice(next, a.notes[next])
		}
		if i == a.parts && i > 0 && i < len(events) {
			d.parts(&events[i])
		}
		if i == failed.event {
			d.fails(failed)
		}
		if i < len(events) {
			d.event(&events[i])
		}
	}
	d.fold()
	return &d.Picture
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

// add adds a row.
func (d *drawing) add(who uint64, r Row) int {
	r.Column = d.column(who)
	if r.From >= 0 {
		r.Source = d.Rows[r.From].Column
	}
	if r.At == "" {
		r.At = time.Duration(r.now - moment.Origin).String()
	}
	d.Rows = append(d.Rows, r)
	return len(d.Rows) - 1
}

// choice draws one of the choices that matter.
func (d *drawing) choice(i int, n note) {
	who := d.account.where(n)
	at := d.add(who, Row{
		At: n.at.String(), Kind: "choice", From: -1, Choice: i + 1,
		Text: fmt.Sprintf("%d. %s", i+1, d.account.describe(n)),
	})
	way := uint64(0)
	if p := n.choice.Purpose; p == choice.ForLatency || p == choice.ForPacket {
		way = n.choice.Place>>16<<32 | n.choice.Place&0xffff
	}
	d.chose(at, who, way)
}

// parts draws where the nearest run that passes does something else.
func (d *drawing) parts(e *record.Event) {
	who := e.Who
	if d.hosts && who>>32 == 0 {
		who = 1 << 32
	}
	d.marks(d.add(who, Row{now: e.Now, Kind: "parts", From: -1, Text: d.account.there}))
}

// fails draws the failure.
func (d *drawing) fails(m mark) {
	line, _, _ := strings.Cut(d.Failure, "\n")
	who := m.who
	if d.hosts && who == 0 {
		who = 1 << 32 // the host "test"
	} else if n := len(d.Rows); who == 0 && n > 0 {
		who = d.Columns[d.Rows[n-1].Column].who
	}
	d.failed(d.add(who, Row{At: m.at.String(), Kind: "failure", From: -1, Text: "FAILS: " + line}), who)
}

// by returns the beginning of the text of an event: the task, if the column is a host's.
func (d *drawing) by(who uint64) string {
	if !d.hosts || who&0xffffffff == 0 {
		return ""
	}
	name, _, _ := strings.Cut(d.account.name(who), " of ")
	return name + " "
}

// event draws one event of the trace.
func (d *drawing) event(e *record.Event) {
	r := Row{now: e.Now, From: -1, Detail: e.Data + stackText(e.Stack)}
	by, to := d.by(e.Who), e.Who&0xffffffff
	switch e.Kind {
	case record.Stepped:
		d.runs(e.Who)
		return
	case record.Started:
		r.Kind, r.Text, r.From = "start", by+"starts", d.lastOf(e.By)
	case record.Parked:
		r.Kind, r.Text = "wait", by+"waits for "+e.What
		if e.What == "yield" {
			r.Kind, r.Text = "yield", by+"yields"
		}
	case record.Woken:
		r.Kind, r.Text, r.From = "wake", by+"is woken", d.wokenFrom(e)
		if e.By != 0 {
			r.Text += " by " + d.account.name(e.By)
		}
	case record.Ended:
		r.Kind, r.Text = "end", by+"ends"
		if e.N != 0 {
			r.Text = by + "ends with an error"
		}
	case record.Passed:
		r.Kind, r.Text = "late", by+"is ready but does not run"
	case record.Drew:
		r.Kind, r.Text = "draw", fmt.Sprintf("%sChoose returns %d", by, e.N)
	case record.Wrote:
		r.Kind, r.Text = "write", fmt.Sprintf("writes %d bytes to %s: %s", e.N, e.What, e.Data)
	case record.Put:
		if e.Data == "" {
			return
		}
		r.Kind, r.Text = "put", "hands over "+e.Data
	case record.Hosted:
		r.Kind, r.Text = "host", e.What
	case record.Struck:
		r.Kind, r.Text = "fault", e.What
		if to != 0 {
			r.Text += ", to " + d.account.host(to)
		}
	case record.Sent:
		r.Kind, r.Text = "send", message(e, "to "+d.account.host(to))
	case record.Arrived:
		if r.From = d.sentAs(e); r.From >= 0 {
			e.Data = d.Rows[r.From].Detail
			r.Detail = e.Data
		}
		r.Kind, r.Text = "arrive", message(e, "from "+d.account.host(e.Who>>32))
		d.arrived(e, d.add(to<<32, r), r.From)
		return
	default:
		if !d.told(e, &r, by) {
			return // jumped, chosen and called show in what follows
		}
	}
	d.happened(e, d.add(e.Who, r), r.From)
}

// told is event for what the program says of itself. It reports whether there is a row.
func (d *drawing) told(e *record.Event, r *Row, by string) bool {
	switch e.Kind {
	case record.Showed:
		key := fmt.Sprint(e.Who>>32, e.What)
		before, known := d.shown[key]
		if known && before == e.Data {
			return false
		}
		d.shown[key] = e.Data
		r.Kind, r.Text = "state", e.What+" = "+e.Data
		if known {
			r.Text += ", was " + before
		}
	case record.Asked:
		r.Kind, r.Text = "ask", by+"asks "+e.Data
	case record.Answered:
		r.Kind, r.Text = "answer", by+"asked "+e.What+" and is answered"
		if e.Data != "" {
			r.Text = by + "asked " + e.What + " and gets " + e.Data
		}
	default:
		return false
	}
	return true
}

// message says what a message is.
func message(e *record.Event, way string) string {
	if e.Data == "" || e.N == 0 {
		return e.What + " " + way
	}
	return fmt.Sprintf("%s, %d bytes, %s: %s", e.What, e.N, way, e.Data)
}

// fold marks the rows that matter, and leaves out those that are far from each of them.
func (d *drawing) fold() {
	is := d.matters(func(row int) int { return d.Rows[row].Column })
	far := make([]int, len(is)) // how far each row is from one that matters
	for i := range far {
		far[i] = len(is)
		if is[i] {
			far[i] = 0
		} else if i > 0 {
			far[i] = min(far[i], far[i-1]+1)
		}
	}
	for i := len(far) - 2; i >= 0; i-- {
		far[i] = min(far[i], far[i+1]+1)
	}
	most := len(is)
	if len(is) > DrawnMax {
		sorted := slices.Clone(far)
		slices.Sort(sorted)
		most = max(sorted[DrawnMax]-1, 0)
	}
	place := make([]int, len(is))
	var rows []Row
	gap := 0
	for i, r := range d.Rows {
		if place[i] = -1; far[i] > most {
			gap++
			continue
		}
		place[i] = len(rows)
		if r.From >= 0 {
			r.From = place[r.From]
		}
		r.Main, r.Gap = is[i], gap
		d.Left += gap
		gap = 0
		rows = append(rows, r)
	}
	d.Left += gap
	d.Rows = rows
}
