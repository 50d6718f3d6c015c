//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// TestAddTable: the page has the tables of the program, with what they say escaped, until they are
// removed. Other answers have none.
func TestAddTable(t *testing.T) {
	asked := 0
	remove := inspect.AddTable("Jobs", func(context.Context) [][]string {
		asked++ // get waits for the answer
		return [][]string{{"name", "done"}, {"<mails>", "17"}, {"bills", ""}}
	})
	for range 2 {
		page := body(t, get(t, "GET", "/", "text/html"))
		for _, want := range []string{"<h2>Jobs</h2>", `<th>name</th><th class="n">done</th>`, `<tr><td>&lt;mails&gt;</td><td class="n">17</td></tr>`, "<td>bills</td>"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page has no %q:\n%s", want, page)
			}
		}
	}
	for _, format := range []string{"json", "metrics", "flight"} {
		if text := body(t, get(t, "GET", "/?format="+format, "")); strings.Contains(text, "mails") || asked != 2 {
			t.Errorf("for two pages and the %s the table was asked for %d times, and this is the answer:\n%s", format, asked, text)
		}
	}
	remove()
	if page := body(t, get(t, "GET", "/", "text/html")); strings.Contains(page, "mails") {
		t.Errorf("the table is there after it was removed:\n%s", page)
	}
}

// TestAddTableFails: the page says so if a table panics or has nothing.
func TestAddTableFails(t *testing.T) {
	for want, rows := range map[string]func(ctx context.Context) [][]string{
		"panic: oh":   func(context.Context) [][]string { panic("oh") },
		"nothing yet": func(context.Context) [][]string { return nil },
	} {
		remove := inspect.AddTable("Fails", rows)
		if page := body(t, get(t, "GET", "/", "text/html")); !regexp.MustCompile(`<h2>Fails</h2>\s*<p class="soft">` + want + `</p>`).MatchString(page) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
		remove()
	}
}

// TestAddTableHangs: a function whose ctx is cancelled may still answer; one that does not is not
// waited for, nor called again before it has returned.
func TestAddTableHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, calls := make(chan struct{}), make(chan int, 10)
		defer inspect.AddTable("Hangs", func(context.Context) [][]string { calls <- 1; <-release; return nil })()
		defer inspect.AddTable("Waits", func(ctx context.Context) [][]string {
			<-ctx.Done()
			return [][]string{{context.Cause(ctx).Error()}}
		})()
		for _, want := range []string{"no answer within 1s", "the answer to an earlier page is still awaited"} {
			start := time.Now()
			tables := inspect.OwnTables(t.Context())
			if tables[0].Problem != want || tables[1].Problem != "" || tables[1].Head[0].Text != context.DeadlineExceeded.Error() || len(calls) != 1 {
				t.Errorf("the tables are %+v after %d calls", tables, len(calls))
			}
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("it took %v", took)
			}
		}
		close(release)
	})
}

// TestTablesBounded: tables take no more of the page than there is for them, and the page says what
// is left out.
func TestTablesBounded(t *testing.T) {
	for i := range 9 {
		defer inspect.AddTable(fmt.Sprint("Table ", i), func(context.Context) [][]string {
			rows := [][]string{{"name"}}
			for k := range 100 {
				rows = append(rows, []string{strings.Repeat("&", k)})
			}
			return rows
		})()
	}
	page := body(t, get(t, "GET", "/", "text/html"))
	from, to := strings.Index(page, "<h2>Table 0"), strings.Index(page, "<form")
	if from < 0 || to-from > 4<<10 {
		t.Errorf("the tables have %d bytes:\n%s", to-from, page)
	}
	if !strings.Contains(page, "<p class=\"soft\">and 8") || !regexp.MustCompile(`<h2>[1-8] more</h2>`).MatchString(page) {
		t.Errorf("the page does not say that more was left out:\n%s", page)
	}
}
