package main

// The record of what was measured: results.json has the last results of every
// row, from which the tables and the plots are made. A run of some rows replaces
// those, so each row says when and where it was measured.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// A record has what was measured of each row, in the order of the rows.
type record struct {
	Rows []*measured
}

// A measured row. Missing has a sentence for each rival that this machine did not
// have.
type measured struct {
	Name    string
	Section section
	Why     string `json:",omitempty"`
	Machine string // the Go release, the system and the processor
	When    string // a date
	Rounds  int
	Results []result
	Missing []string `json:",omitempty"`
}

// newMeasured describes a row on this machine, without its results.
func newMeasured(r row, o options) *measured {
	return &measured{
		Name: r.name, Section: r.section, Why: r.why,
		Machine: fmt.Sprintf("%s, %s/%s, %d CPUs (%s)", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor()),
		When:    time.Now().Format(time.DateOnly), Rounds: o.rounds,
	}
}

// row returns what was measured of a row, or nil.
func (d *record) row(name string) *measured {
	for _, m := range d.Rows {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// merge puts the rows of a newer record in place of the old ones, in the order of
// the table of rows, which also says why. A row that is not in that table is
// dropped.
func (d *record) merge(newer *record, table []row) *record {
	merged := new(record)
	for _, r := range table {
		m := newer.row(r.name)
		if m == nil {
			m = d.row(r.name)
		}
		if m != nil {
			m.Section, m.Why = r.section, r.why
			merged.Rows = append(merged.Rows, m)
		}
	}
	return merged
}

// missing returns the sentences of all rows, each once.
func (d *record) missing() (sentences []string) {
	for _, m := range d.Rows {
		for _, s := range m.Missing {
			if !slices.Contains(sentences, s) {
				sentences = append(sentences, s)
			}
		}
	}
	return sentences
}

func recordPath(root string) string { return filepath.Join(root, "bench", "results.json") }

// loadRecord reads the results of the last run that was written.
func loadRecord(root string) (*record, error) {
	text, err := os.ReadFile(recordPath(root))
	if err != nil {
		return nil, fmt.Errorf("%w (go run ./bench -write makes it)", err)
	}
	d := new(record)
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("%s: %w", recordPath(root), err)
	}
	return d, nil
}

// save writes each row on a line of its own, so that a row measured again changes one line.
func (d *record) save(root string) error {
	var b bytes.Buffer
	b.WriteString("{\"Rows\": [")
	for i, m := range d.Rows {
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n%s", text)
	}
	b.WriteString("\n]}\n")
	return os.WriteFile(recordPath(root), b.Bytes(), 0o644)
}
