//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/inspect"
)

// TestAddTable: the page has the tables of the program, with what they say escaped, until they are
// removed. Other answers have none.
func TestAddTable(t *testing.T) {
	remove := inspect.AddTable("Jobs", func(context.Context) [][]string {
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
	for _, format := range []string{"json", "metrics"} {
		if text := body(t, get(t, "GET", "/?format="+format, "")); strings.Contains(text, "mails") {
			t.Errorf("the table is in the %s:\n%s", format, text)
		}
	}
	remove()
	if page := body(t, get(t, "GET", "/", "text/html")); strings.Contains(page, "mails") {
		t.Errorf("the table is there after it was removed:\n%s", page)
	}
}

// TestAddTableFails: the page is served, and says so, if a table panics, has nothing or does not
// answer; a function that does not answer is not called again before it has returned.
func TestAddTableFails(t *testing.T) {
	release, calls := make(chan struct{}), make(chan int, 10)
	for title, rows := range map[string]func(ctx context.Context) [][]string{
		"Panics": func(context.Context) [][]string { panic("oh") },
		"Empty":  func(context.Context) [][]string { return nil },
		"Hangs":  func(context.Context) [][]string { calls <- 1; <-release; return nil },
		"Waits":  func(ctx context.Context) [][]string { <-ctx.Done(); return [][]string{{context.Cause(ctx).Error()}} },
	} {
		defer inspect.AddTable(title, rows)()
	}
	text := func(title, page string) string {
		m := regexp.MustCompile(`<h2>` + title + `</h2>\s*<p class="soft">([^<]*)</p>`).FindStringSubmatch(page)
		return strings.Join(append(m, ""), "|")
	}
	page := body(t, get(t, "GET", "/", "text/html"))
	for title, want := range map[string]string{"Panics": "panic: oh", "Empty": "nothing yet", "Hangs": "no answer within 1s"} {
		if have := text(title, page); !strings.Contains(have, "|"+want+"|") {
			t.Errorf("%s: %q, want %q, in\n%s", title, have, want, page)
		}
	}
	if !strings.Contains(page, "<th>context deadline exceeded</th>") {
		t.Errorf("the answer of a function whose ctx was cancelled is missing in\n%s", page)
	}
	page = body(t, get(t, "GET", "/", "text/html"))
	if have := text("Hangs", page); !strings.Contains(have, "still awaited") || len(calls) != 1 {
		t.Errorf("%q, after %d calls", have, len(calls))
	}
	close(release)
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
