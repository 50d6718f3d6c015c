package picture

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rondo-go/rondo/sim/internal/moment"
)

// page is the picture without its data: one file that needs no others.
//
//go:embed picture.html
var page []byte

// Files is the picture of a run: a page, and trace events.
type Files struct{ Page, Chrome []byte }

// Files draws a run that has ended.
func (a *Account) Files(title, failure, replay string) (d Files, err error) {
	p := a.Draw(title, failure, replay)
	if d.Page, err = p.HTML(); err == nil {
		d.Chrome, err = p.Chrome()
	}
	return d, err
}

// Write writes the picture, and returns the line that a report has about it. name has no
// ending.
func (d Files) Write(name string) string {
	err := os.MkdirAll(filepath.Dir(name), 0o777)
	if err == nil {
		err = os.WriteFile(name+".html", d.Page, 0o666)
	}
	if err == nil {
		err = os.WriteFile(name+".trace.json", d.Chrome, 0o666)
	}
	if err != nil {
		return fmt.Sprintf("\n\tno picture: %v", err)
	}
	return "\n\tpicture: " + name + ".html; for ui.perfetto.dev: " + name + ".trace.json"
}

// HTML returns the page with the picture in it.
func (p *Picture) HTML() ([]byte, error) {
	data, err := json.Marshal(p) // it escapes what could end the script
	if err != nil {
		return nil, err
	}
	return bytes.Replace(page, []byte("/*data*/null"), data, 1), nil
}

// Chrome returns the picture as trace events for ui.perfetto.dev and chrome://tracing: a
// wait is a slice, everything else a mark.
func (p *Picture) Chrome() ([]byte, error) {
	type object = map[string]any
	var all []object
	for i, c := range p.Columns {
		all = append(all, object{"ph": "M", "name": "thread_name", "pid": 1, "tid": i + 1, "args": object{"name": c.Name}})
	}
	waits := make(map[int]int) // the row in which the column began to wait
	us := func(r Row) float64 { return float64(r.now-moment.Origin) / 1e3 }
	for i, r := range p.Rows {
		if r.Kind == "choice" {
			at, _ := time.ParseDuration(r.At)
			r.now = moment.Origin + int64(at)
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
