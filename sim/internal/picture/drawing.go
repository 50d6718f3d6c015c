package picture

// A drawing shows who did what in which order, who woke whom, which messages went where, and
// the choices that mattered. A row is an event, from the top to the bottom; a column is a
// task, or in a cluster a host. Virtual time stands still for most events, so it is written
// beside the rows and not drawn to scale.

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// DrawnMax is how many events a picture has at most. It shows the last ones, because the
// failure is there.
const DrawnMax = 2000

// A Picture is what the page shows. The field names are those in picture.html.
type Picture struct {
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
	flights map[flight][]int // the rows of messages that have not arrived
	last    map[uint64]int   // the last row of each column's who
}

// A flight is a way of messages: between whom, and of which sort.
type flight struct {
	way  uint64
	what string
}

// Draw makes the picture of a run that has ended.
func (a *Account) Draw(title, failure, replay string) *Picture {
	d := &drawing{
		Picture: Picture{Title: title, Failure: failure, Replay: replay, Choices: a.Words()},
		account: a, columns: make(map[uint64]int), flights: make(map[flight][]int), last: make(map[uint64]int),
	}
	events := a.trace.Events
	for _, e := range events {
		d.hosts = d.hosts || e.Kind == record.Hosted
	}
	if n := len(events); n > DrawnMax {
		d.Left = n - DrawnMax
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

func (d *drawing) add(who uint64, r row) int {
	r.Column = d.column(who)
	if r.From >= 0 {
		r.Source = d.Rows[r.From].Column
	}
	if r.At == "" {
		r.At = time.Duration(r.now - moment.Origin).String()
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
func (d *drawing) event(e record.Event) {
	r := row{now: e.Now, From: -1, Detail: e.Data + stackText(e.Stack)}
	who := e.Who
	by := ""
	if d.hosts && e.Who&0xffffffff != 0 && e.Kind <= record.Drew {
		by = d.account.name(e.Who) + " "
	}
	switch e.Kind {
	case record.Started:
		r.Kind, r.Text = "start", by+"starts"
	case record.Parked:
		r.Kind, r.Text = "wait", by+"waits for "+e.What
		if e.What == "yield" {
			r.Kind, r.Text = "yield", by+"yields"
		}
	case record.Woken:
		r.Kind, r.Text = "wake", by+"is woken"
		if from, ok := d.last[e.By]; ok && e.By != 0 {
			r.From, r.Text = from, r.Text+" by "+d.account.name(e.By)
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
		r.Kind, r.Text = "write", fmt.Sprintf("writes %d bytes to %s", e.N, e.What)
	case record.Hosted:
		r.Kind, r.Text = "host", e.What
	case record.Struck:
		r.Kind, r.Text = "fault", e.What
		if to := e.Who & 0xffffffff; to != 0 {
			r.Text += ", to " + d.account.host(to)
		}
	case record.Sent:
		f := flight{e.Who, e.What}
		r.Kind, r.Text = "send", fmt.Sprintf("%s, %d bytes, to %s", e.What, e.N, d.account.host(e.Who&0xffffffff))
		d.flights[f] = append(d.flights[f], d.add(who, r))
		return
	case record.Arrived:
		f := flight{e.Who, e.What}
		r.Kind, r.Text = "arrive", fmt.Sprintf("%s, %d bytes, from %s", e.What, e.N, d.account.host(e.Who>>32))
		who = e.Who << 32
		if rows := d.flights[f]; len(rows) > 0 {
			r.From, r.Detail = rows[0], d.Rows[rows[0]].Detail
			d.flights[f] = rows[1:]
		}
	default:
		return // jumped, chosen, stepped and called show in what follows
	}
	d.add(who, r)
}
