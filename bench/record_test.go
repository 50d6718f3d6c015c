package main

// These tests hold the README files and the plots to the results that are kept.

import (
	"bytes"
	"errors"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// sample has two rows: in the first a rival is cheaper.
func sample() *record {
	return &record{Rows: []*measured{
		{
			Name: "echo-50", Section: servers, Why: "Stacks are cold.", Machine: "a machine", When: "2026-01-02", Rounds: 3,
			Results: []result{
				{What: "echo", Mine: "tasks", Rival: "net", Unit: "ns", Own: 4000, Theirs: 8000, Ratios: []float64{0.4, 0.5, 0.6}, Budget: 0.9, Allowed: unlimited},
				{What: "echo", Mine: "tasks", Rival: "C", Unit: "ns", Own: 4000, Theirs: 2000, Ratios: []float64{1.9, 2, 2.1}, Budget: 1.1, Allowed: unlimited},
				{What: "echo", Mine: "Protocol", Rival: "C", Unit: "ns", Own: 2000, Theirs: 2000, Ratios: []float64{1, 1, 1}, Allowed: unlimited},
			},
			Missing: []string{"tokio is missing."},
		},
		{
			Name: "one-spawn", Section: oneCPU, Why: "Nothing.", Machine: "a machine", When: "2026-01-02", Rounds: 3,
			Results: []result{{What: "spawn", Rival: goroutines, Unit: "ns", Own: 100, Theirs: 200, Ratios: []float64{0.5}, Allowed: unlimited}},
			Missing: []string{"tokio is missing."},
		},
	}}
}

// TestMarkdown: the table has each section, marks what is above its budget, lists
// what is not first with its reason, and says once what is missing.
func TestMarkdown(t *testing.T) {
	text := sample().markdown()
	for _, want := range []string{
		"### " + string(servers), "### " + string(oneCPU),
		"| what | Rondo | net | C | `-run` |",
		"| echo: tasks | 4.00 µs | 8.00 µs<br>**0.50x** (0.40–0.60)<br>budget 0.90x: yes | 2.00 µs<br>**2.00x** (1.90–2.10)<br>budget 1.10x: **no** | echo-50 |",
		"| echo: Protocol | 2.00 µs | – |",
		"| spawn | 100.0 ns | goroutines | 200.0 ns | **0.50x** | none |  | one-spawn |",
		"* echo: tasks: C is first. Rondo costs 2.00x of it.\n\n  Why: Stacks are cold.",
		"a machine, 3 rounds a side, 2026-01-02.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "tokio is missing."); n != 1 {
		t.Errorf("%d times missing", n)
	}
	for _, other := range []string{"echo: Protocol: C is first", "Nothing."} {
		if strings.Contains(text, other) {
			t.Errorf("%q is in\n%s", other, text)
		}
	}
}

// TestMerge: a newer row replaces the old one, the others stay, and the table of
// rows says the order and why.
func TestMerge(t *testing.T) {
	newer := &record{Rows: []*measured{{Name: "echo-50", When: "later"}}}
	table := []row{{name: "one-spawn", section: oneCPU, why: "A new reason."}, {name: "not measured"}, {name: "echo-50", section: servers}}
	got := sample().merge(newer, table)
	if len(got.Rows) != 2 || got.Rows[0].Name != "one-spawn" || got.Rows[0].Why != "A new reason." || got.Rows[1].When != "later" {
		t.Errorf("%+v", got.Rows)
	}
	if got := sample().merge(new(record), table[:1]); len(got.Rows) != 1 {
		t.Errorf("a row that the table does not have is left: %+v", got.Rows)
	}
}

func TestRecordIsKept(t *testing.T) {
	root := t.TempDir()
	if _, err := loadRecord(root); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.Mkdir(filepath.Join(root, "bench"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := sample().save(root); err != nil {
		t.Fatal(err)
	}
	got, err := loadRecord(root)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, sample()) {
		t.Errorf("got %+v", got)
	}
	if err := os.WriteFile(recordPath(root), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadRecord(root); err == nil || !strings.Contains(err.Error(), "results.json") {
		t.Errorf("half a file: %v", err)
	}
}

// TestPlotsNeedRows: a plot without anything in it is refused by a sentence.
func TestPlotsNeedRows(t *testing.T) {
	err := drawPlots(new(record), t.TempDir(), new(strings.Builder))
	if err == nil || !strings.Contains(err.Error(), "go run ./bench -write") {
		t.Error(err)
	}
}

const again = "go run ./bench -plot writes it again"

// TestREADMEIsFromTheRecord: the tables in the documents are those of results.json.
func TestREADMEIsFromTheRecord(t *testing.T) {
	d := kept(t)
	for path, want := range d.tables() {
		text, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), opening)
		got, _, found := strings.Cut(rest, closing)
		if !found || got != want {
			t.Errorf("the table of %s is not that of results.json: %s", path, again)
		}
	}
}

// TestPlotsAreFromTheRecord: the plots are those of results.json.
func TestPlotsAreFromTheRecord(t *testing.T) {
	root := t.TempDir()
	if err := drawPlots(kept(t), root, new(strings.Builder)); err != nil {
		t.Fatal(err)
	}
	drawn, err := filepath.Glob(filepath.Join(root, "docs/img/*.svg"))
	if err != nil || len(drawn) != 5 {
		t.Fatalf("%d plots: %v", len(drawn), err)
	}
	for _, path := range drawn {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		published := filepath.Join("../docs/img", filepath.Base(path))
		if got, err := os.ReadFile(published); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not the plot of results.json: %s (%v)", published, again, err)
		}
		if !bytes.Contains(want, []byte("textLength=")) || !bytes.Contains(want, []byte("log scale")) {
			t.Errorf("%s: a text has no width, or the axis no name", published)
		}
	}
}

func kept(t *testing.T) *record {
	t.Helper()
	d, err := loadRecord("..")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestColoursShow: each colour of a plot has a contrast of 3 with white and with black, as WCAG 2.1
// asks of graphics (1.4.11).
func TestColoursShow(t *testing.T) {
	luminance := func(c color.Color) float64 {
		n := color.NRGBAModel.Convert(c).(color.NRGBA)
		linear := func(v uint8) float64 {
			if s := float64(v) / 255; s > 0.04045 {
				return math.Pow((s+0.055)/1.055, 2.4)
			}
			return float64(v) / 255 / 12.92
		}
		return 0.2126*linear(n.R) + 0.7152*linear(n.G) + 0.0722*linear(n.B)
	}
	for _, c := range append([]color.Color{ink}, palette...) {
		if l := luminance(c); 1.05/(l+0.05) < 3 || (l+0.05)/0.05 < 3 {
			t.Errorf("%v has a contrast of %.2f with white, and %.2f with black", c, 1.05/(l+0.05), (l+0.05)/0.05)
		}
	}
}
