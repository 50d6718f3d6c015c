package record

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/sim/internal/moment"
)

// events returns some that differ in one thing each.
func events() []Event {
	now := moment.Origin
	return []Event{
		{Now: now, Who: 1, What: "text", N: 3, Kind: Stepped},
		{Now: now + 1, Who: 1, What: "text", N: 3, Kind: Stepped},
		{Now: now, Who: 2, What: "text", N: 3, Kind: Stepped},
		{Now: now, Who: 1, What: "texts", N: 3, Kind: Stepped},
		{Now: now, Who: 1, What: "text", N: 4, Kind: Stepped},
		{Now: now, Who: 1, What: "text", N: 3, Kind: Parked},
	}
}

// traceOf returns the trace of a run that follows another one, or none.
func traceOf(first *Trace, events ...Event) *Trace {
	t := &Trace{Keep: first == nil, Follows: first}
	for _, e := range events {
		t.Add(e)
	}
	return t
}

// TestDifference: the first event in which two runs differ is named, and their sums differ.
func TestDifference(t *testing.T) {
	all := events()
	same := all[0]
	for i, e := range all[1:] {
		first, second := traceOf(nil, same, same, same), traceOf(nil, same, e, same)
		if first.Hash == second.Hash {
			t.Errorf("%d: the sums are alike", i)
		}
		if at := Part(first, second); at != 1 {
			t.Errorf("%d: the runs part at %d", i, at)
		}
		want := fmt.Sprintf("at event 2 in the first run %v, but in the second %v", same, e)
		if got := traceOf(first, same, e, same).Difference(); got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
	first := traceOf(nil, same, same)
	for i, one := range []struct {
		second *Trace
		want   string
	}{
		{traceOf(first, same, same), ""},
		{traceOf(first, same), fmt.Sprintf("at event 2 in the first run %v, but in the second the end had come", same)},
		{traceOf(first, same, same, same), fmt.Sprintf("at event 3 in the first run the end had come, but in the second %v", same)},
	} {
		if got := one.second.Difference(); got != one.want {
			t.Errorf("%d: %q, want %q", i, got, one.want)
		}
	}
	if at := Part(first, traceOf(nil, same)); at != 1 {
		t.Errorf("a shorter run parts at %d", at)
	}
	if at := Part(first, first); at != -1 {
		t.Errorf("a run parts from itself at %d", at)
	}
}

// TestDifferenceOfContent: what goes with an event is compared too, and the report quotes it.
func TestDifferenceOfContent(t *testing.T) {
	type pair struct{ A, B any }
	of := func(first *Trace, v any) *Trace {
		t := traceOf(first)
		t.Put(moment.Origin, 1, "before")
		t.Put(moment.Origin, 1, v)
		return t
	}
	values := []any{
		nil, "text", "other", []byte("bytes"), true, false, 1, -1, uint8(3), 1.5, 2.5, 1 + 2i, 2 + 2i, 1 + 3i,
		[]int{1}, []int{1, 2}, [][]int{{}, {1}}, [][]int{{1}, {}}, pair{1, "x"}, pair{"x", 1}, pair{pair{1, 2}, nil}, pair{pair{1, 3}, nil},
	}
	for i, a := range values {
		first := of(nil, a)
		for j, b := range values {
			second := of(first, b)
			got := second.Difference()
			if (got == "") != (i == j) || (first.Hash == second.Hash) != (i == j) {
				t.Errorf("%v and %v: %q", a, b, got)
			}
			if i != j && !strings.HasPrefix(got, "at event 2 both times a value was put into a queue after 0s, but not with the same content: the second time it is ") {
				t.Errorf("%q", got)
			}
		}
	}
	// What has an address, or is a time, is not compared.
	for _, alike := range [][2]any{
		{new(int), new(int)}, {map[int]int{1: 1}, map[int]int{2: 2}}, {uintptr(1), uintptr(2)}, {time.Unix(1, 0), time.Unix(2, 0)},
	} {
		if got := of(of(nil, alike[0]), alike[1]).Difference(); got != "" {
			t.Errorf("%v: %q", alike, got)
		}
	}
	endless := []any{nil}
	endless[0] = endless
	if got := of(of(nil, endless), endless).Difference(); got != "" {
		t.Errorf("a value within itself: %q", got)
	}
	first, second := traceOf(nil, events()[0]), traceOf(nil, events()[0])
	first.Carries([]byte("one"))
	second.Carries([]byte("two"))
	if at := Part(first, second); at != 0 {
		t.Errorf("messages with other bytes part at %d", at)
	}
	for _, at := range []int64{1, 2} {
		first, second := traceOf(nil), traceOf(nil)
		first.Wrote(0, 1, "file", 1, []byte("x"))
		if second.Wrote(0, 1, "file", at, []byte("x")); (first.Hash == second.Hash) != (at == 1) {
			t.Errorf("a write at 1 and one at %d have these sums: %x, %x", at, first.Hash, second.Hash)
		}
	}
}

// TestChance: runs in which the runtime had a part are not compared. From the second wait for a
// channel on, or the first beside an offloaded function, nothing is recorded.
func TestChance(t *testing.T) {
	all := events()
	for _, chance := range []int{0, 1, 2} {
		first := traceOf(nil, all[0])
		second := traceOf(first, all[1])
		if chance == 1 {
			first.ByChance()
		} else if chance == 2 {
			second.ByChance()
		}
		if got := second.Difference(); (got == "") != (chance > 0) {
			t.Errorf("%d: %q", chance, got)
		}
		if sum, compared := second.Sum(); compared != (chance != 2) || (sum == "chance") != (chance == 2) {
			t.Errorf("%d: %q, %v", chance, sum, compared)
		}
	}
	if sum, _ := traceOf(nil, all[0], all[1]).Sum(); !strings.HasPrefix(sum, "2 ") || len(sum) != 18 {
		t.Errorf("%q", sum)
	}
	for i, one := range []struct {
		waits []string
		back  int
		hears bool
	}{
		{nil, 0, true},
		{[]string{"channel"}, 0, true},
		{[]string{"channel", "channel"}, 0, false},
		{[]string{"channel"}, 1, false},
		{[]string{"offload", "offload"}, 0, true},
		{[]string{"offload", "channel"}, 0, true},
		{[]string{"channel", "offload"}, 0, false},
		{[]string{"channel", "queue", "queue"}, 0, true},
	} {
		trace := traceOf(nil)
		for _, what := range one.waits {
			trace.Waits(what, one.back)
		}
		trace.Add(all[0])
		trace.Carries([]byte("x"))
		trace.Put(0, 1, "x")
		trace.Wrote(0, 1, "x", 0, nil)
		if want := map[bool]int{true: 3}[one.hears]; trace.Count != want || (trace.Hash != 0) != one.hears {
			t.Errorf("%d: %d events, want %d", i, trace.Count, want)
		}
	}
	var none *Trace
	none.Add(all[0])
	none.Carries(nil)
	none.Put(0, 1, nil)
	none.Wrote(0, 1, "x", 0, nil)
	none.Waits("channel", 0)
	none.ByChance()
	if none.Shows() || none.StackHere() != nil {
		t.Error("there is a picture without a trace")
	}
}

// TestWords: a picture has what a message carries: in the words of the test, or quoted and cut.
func TestWords(t *testing.T) {
	long := strings.Repeat("x", textMost)
	for i, one := range []struct {
		payload func([]byte) string
		data    string
		want    string
	}{
		{nil, "text", `"text"`},
		{nil, long, `"` + long + `"`},
		{nil, long + "yz", `"` + long + `" and 2 more bytes`},
		{func([]byte) string { return "" }, "text", `"text"`},
		{func(p []byte) string { return string(p) + "!" }, "text", "text!"},
		{func(p []byte) string { return string(p) }, long, long},
		{func(p []byte) string { return string(p) }, long + "y", long + "…"},
		{func([]byte) string { panic("bad") }, long + "y", `"` + long + `", of which Config.Payload panicked: bad`},
	} {
		trace := &Trace{Keep: true, Draws: true, Payload: one.payload}
		trace.Add(events()[0])
		trace.Carries([]byte(one.data))
		trace.Wrote(0, 1, "file", 0, []byte(one.data))
		trace.Put(0, 1, []string{one.data[:1]})
		e := trace.Events
		if e[0].Data != one.want || e[1].Data != one.want || e[2].Data != "["+one.data[:1]+"]" {
			t.Errorf("%d: %q, %q, %q; want %q", i, e[0].Data, e[1].Data, e[2].Data, one.want)
		}
	}
}

// TestEnds: whether a task ended with an error is said.
func TestEnds(t *testing.T) {
	for n, want := range []string{"task-3 ended after 1s", "task-3 ended with an error after 1s"} {
		e := Event{Now: moment.Origin + int64(time.Second), Who: 3, N: int32(n), Kind: Ended}
		if got := e.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
