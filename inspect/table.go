package inspect

// Tables of the program's own stand on the page of Handler, such as the jobs and calls that a
// Meter of package nats counts. Each page asks for them before it takes the snapshot, and waits a
// second for all of them together, so a table that hangs does not keep the page back.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// tableTime is how long the functions of AddTable have for one page, and tableGrace how much longer
// the page waits for those that return because their ctx was cancelled.
const (
	tableTime  = time.Second
	tableGrace = time.Second / 4
)

// mostTableRows is how many rows of a table of the program's own the page shows.
const mostTableRows = 20

// A source is a table that AddTable has added. busy is held while its function runs.
type source struct {
	title string
	rows  func(ctx context.Context) [][]string
	busy  sync.Mutex
}

// sources are those of the program; sourcesMu guards the list.
var (
	sourcesMu sync.Mutex
	sources   []*source
)

// AddTable adds a table to the page of Handler, until remove is called. rows returns its rows,
// the first of which has the headings. It is called for each page, on a goroutine that is no
// task. After one second its ctx is cancelled, and soon after the page says that there was no
// answer. A page has room for 20 rows of a table, and for 3 KiB of all tables. If rows panics,
// the page shows the panic. Any goroutine may call AddTable and remove, and neither suspends.
// AddTable panics if rows is nil.
//
//	defer inspect.AddTable("NATS", meter.Table)() // a *nats.Meter
func AddTable(title string, rows func(ctx context.Context) [][]string) (remove func()) {
	if rows == nil {
		panic("inspect: AddTable with a nil function")
	}
	s := &source{title: title, rows: rows}
	sourcesMu.Lock()
	defer sourcesMu.Unlock()
	sources = append(sources, s)
	return func() {
		sourcesMu.Lock()
		defer sourcesMu.Unlock()
		sources = slices.DeleteFunc(sources, func(o *source) bool { return o == s })
	}
}

// A table is what the page shows of a source.
type table struct {
	Title   string
	Head    []cell
	Rows    [][]cell
	More    int
	Problem string // why there are no rows
}

// A cell is one of a table. In a column of numbers it stands on the right.
type cell struct {
	Text   string
	Number bool
}

// ownTables asks all sources at once.
func ownTables(ctx context.Context) []table {
	sourcesMu.Lock()
	all := slices.Clone(sources)
	sourcesMu.Unlock()
	if len(all) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tableTime)
	defer cancel()
	late := time.NewTimer(tableTime + tableGrace)
	defer late.Stop()
	answers := make([]chan table, len(all))
	for i, s := range all {
		answers[i] = make(chan table, 1)
		go func() { answers[i] <- s.ask(ctx) }()
	}
	tables := make([]table, len(all))
	over := false
	for i, s := range all {
		if !over {
			select {
			case tables[i] = <-answers[i]:
				continue
			case <-late.C:
				over = true
			}
		}
		select {
		case tables[i] = <-answers[i]:
		default:
			tables[i] = table{Title: s.title, Problem: "no answer within " + tableTime.String()}
		}
	}
	return fitted(tables)
}

// ask calls the function of s, unless an earlier call has not returned yet.
func (s *source) ask(ctx context.Context) (t table) {
	t.Title = s.title
	if !s.busy.TryLock() {
		t.Problem = "the answer to an earlier page is still awaited"
		return t
	}
	defer s.busy.Unlock()
	defer func() {
		if v := recover(); v != nil {
			t = table{Title: s.title, Problem: fmt.Sprint("panic: ", v)}
		}
	}()
	rows := s.rows(ctx)
	if len(rows) == 0 {
		t.Problem = "nothing yet"
		return t
	}
	numbers := make([]bool, len(rows[0]))
	for i := range numbers {
		numbers[i] = isNumbers(rows[1:], i)
	}
	for i, row := range rows {
		cells := make([]cell, 0, len(row))
		for k, text := range row {
			cells = append(cells, cell{clip(text), k < len(numbers) && numbers[k]})
		}
		if i == 0 {
			t.Head = cells
		} else {
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}

// isNumbers reports whether each text in a column begins with a digit, or is empty.
func isNumbers(rows [][]string, column int) bool {
	some := false
	for _, row := range rows {
		if column >= len(row) || row[column] == "" {
			continue
		}
		if row[column][0] < '0' || row[column][0] > '9' {
			return false
		}
		some = true
	}
	return some
}

// fitted returns as much of the tables as a page has room for.
func fitted(tables []table) []table {
	room := space(ownBytes)
	for i := range tables {
		t := &tables[i]
		t.Title, t.Problem = clip(t.Title), clip(t.Problem)
		if !room.take(160, t.Title, t.Problem) || !takeCells(&room, t.Head) {
			return append(tables[:i], table{Title: fmt.Sprintf("%d more", len(tables)-i)})
		}
		for k, row := range t.Rows {
			if k == mostTableRows || !takeCells(&room, row) {
				t.Rows, t.More = t.Rows[:k], len(t.Rows)-k
				break
			}
		}
	}
	return tables
}

// takeCells takes the room for a row.
func takeCells(room *space, row []cell) bool {
	texts := make([]string, len(row))
	for i, c := range row {
		texts[i] = c.Text
	}
	return room.take(12+22*len(row), strings.Join(texts, ""))
}
