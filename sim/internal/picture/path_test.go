package picture

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// TestPathOfMessages: the way from a late message to the failure leads through the messages of
// several hosts, and past those that have no part in it.
func TestPathOfMessages(t *testing.T) {
	const a, b, c = 2 << 32, 3 << 32, 4 << 32
	trace := &record.Trace{Keep: true, Draws: true}
	account := New(func() time.Duration { return 0 }, trace)
	account.NameHosts(func(n uint64) string { return string(rune('a' + n - 2)) })
	add := func(k record.Kind, who uint64, what string) {
		trace.Add(record.Event{Now: moment.Origin, Kind: k, Who: who, What: what, N: 1, Data: what})
	}
	for _, h := range []uint64{a, b, c} {
		add(record.Hosted, h, "boot")
		add(record.Started, h|1, "")
		add(record.Stepped, h|1, "")
	}
	add(record.Parked, b|1, "read")
	add(record.Sent, a|3, "data")
	account.Note(choice.Choice{Key: choice.Key{Purpose: choice.ForLatency, Place: 2<<16 | 3}, Value: 1}, 0, nil)
	for range 50 {
		add(record.Sent, c|2, "noise")
		add(record.Arrived, c|2, "noise")
	}
	add(record.Arrived, a|3, "data")
	add(record.Woken, b|1, "")
	add(record.Sent, b|4, "data")
	add(record.Arrived, b|4, "data")
	account.Fails(c)
	p := account.Draw("a test", "wrong", "")
	var got []string
	for _, r := range p.Rows {
		if r.Main {
			got = append(got, p.Columns[r.Column].Name+" "+r.Kind)
		}
	}
	want := []string{"a send", "a choice", "b arrive", "b wake", "b send", "c arrive", "c failure"}
	if !slices.Equal(got, want) {
		t.Errorf("%q matter, want %q", got, want)
	}
	if i := slices.IndexFunc(p.Rows, func(r Row) bool { return strings.Contains(r.Text, `data, 1 bytes, to b: data`) }); i < 0 {
		t.Error("a message has no content")
	}
}

// TestDrawnMost: of a long run the rows are drawn that are nearest to those that matter.
func TestDrawnMost(t *testing.T) {
	trace := &record.Trace{Keep: true, Draws: true}
	account := New(func() time.Duration { return 0 }, trace)
	for i := range 3 * DrawnMax {
		if i == DrawnMax {
			account.Note(choice.Choice{Key: choice.Key{Purpose: choice.ForChoose}, Value: 1}, 1, nil)
		}
		if i == 2*DrawnMax {
			account.Fails(1)
		}
		trace.Add(record.Event{Now: moment.Origin, Kind: record.Drew, Who: 1})
	}
	p := account.Draw("a test", "wrong", "")
	at := func(kind string) int { return slices.IndexFunc(p.Rows, func(r Row) bool { return r.Kind == kind }) }
	if len(p.Rows) > DrawnMax || p.Left+len(p.Rows) != 3*DrawnMax+2 || at("choice") < 100 || at("failure") < at("choice")+100 {
		t.Error(len(p.Rows), "rows, and", p.Left, "left out; the choice is row", at("choice"), "and the failure", at("failure"))
	}
}
