package inspect_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// crowd is a snapshot of loops, each with so many tasks: every third is a writer that
// waits for a lock, the others are readers that sleep.
func crowd(loops, tasks int) *inspect.Program {
	p := &inspect.Program{PID: 7, Go: "go1.26.8"}
	for i := range loops {
		l := &inspect.Loop{ID: uint64(1 + i), Name: fmt.Sprint("loop-", i), Exact: true}
		for k := range tasks {
			t := &inspect.Task{ID: uint64(1 + k), Name: fmt.Sprint("reader-", k), State: "waiting", Func: "main.read", What: "sleep", Waiting: fmt.Sprintf("sleep %ds", k), Since: time.Duration(tasks-k) * time.Second}
			if k%3 == 0 {
				t.Name, t.Func, t.What, t.Waiting = fmt.Sprint("writer-", k), "main.write", "lock", fmt.Sprintf(`lock "a&b" held by #%d x`, k)
			}
			l.Tasks = append(l.Tasks, t)
		}
		p.Loops = append(p.Loops, l)
	}
	return p
}

func pageOf(t *testing.T, p *inspect.Program, query string) string {
	t.Helper()
	page, err := inspect.Page(p, strings.TrimPrefix(query, "?"))
	if err != nil {
		t.Fatal(err)
	}
	if len(page) > inspect.MostPage {
		t.Errorf("%.100s: the page has %d bytes, more than %d", query, len(page), inspect.MostPage)
	}
	return page
}

var (
	anyTask  = regexp.MustCompile(`<tr id="task-\d+-(\d+)"`)
	anyGroup = regexp.MustCompile(`<tr id="group-[0-9a-f]+"><td class="n">(\d+)</td><td><a href="([^"]*)">. ([^<]*)</a>`)
)

// numbers returns the first submatch of each match.
func numbers(pattern *regexp.Regexp, page string) (out []string) {
	for _, m := range pattern.FindAllStringSubmatch(page, -1) {
		out = append(out, m[1])
	}
	return out
}

// follow returns the page behind the link with this text.
func follow(t *testing.T, p *inspect.Program, page, text string) string {
	t.Helper()
	m := regexp.MustCompile(`href="([^"]*)">` + regexp.QuoteMeta(text) + `</a>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no link %q in\n%s", text, page)
	}
	return pageOf(t, p, html.UnescapeString(m[1]))
}

// TestPageGroups: many tasks are in groups over all loops, none is listed, and a group
// can be opened, turned over, sorted and closed again by links alone.
func TestPageGroups(t *testing.T) {
	p := crowd(2, 900)
	page := pageOf(t, p, "limit=5&refresh=9")
	if got := fmt.Sprint(numbers(anyGroup, page), numbers(anyTask, page)); got != "[1200 600] []" {
		t.Fatalf("groups and tasks %s; want those of 1200 and 600, and no task:\n%s", got, page)
	}
	first := anyGroup.FindAllStringSubmatch(page, -1)
	if first[1][3] != "lock &#34;a&amp;b&#34;" {
		t.Errorf("the second group waits for %q", first[1][3])
	}
	if strings.Contains(first[1][2], "groups=") {
		t.Errorf("the link that opens a group also sorts: %s", first[1][2])
	}
	open := pageOf(t, p, html.UnescapeString(first[1][2]))
	check := func(step, page, tasks, says string) {
		t.Helper()
		if got := fmt.Sprint(numbers(anyTask, page)); got != tasks || !strings.Contains(page, says) || !strings.Contains(page, `content="9"`) || len(numbers(anyGroup, page)) != 2 {
			t.Errorf("%s: tasks %s, want %s and %q in\n%s", step, got, tasks, says, page)
		}
	}
	check("open", open, "[1 1 4 4 7]", "1 to 5 of 600")
	check("next", follow(t, p, open, "next"), "[7 10 10 13 13]", "6 to 10 of 600")
	check("before", follow(t, p, follow(t, p, open, "next"), "before"), "[1 1 4 4 7]", "1 to 5 of 600")
	check("since, the longest first", follow(t, p, open, "since"), "[1 1 4 4 7]", `aria-sort="descending"`)
	check("since, the shortest first", follow(t, p, follow(t, p, open, "since"), "since"), "[898 898 895 895 892]", `aria-sort="ascending"`)
	closed := html.UnescapeString(anyGroup.FindAllStringSubmatch(open, -1)[1][2])
	check("closed", pageOf(t, p, closed), "[]", "all tasks")
	check("all", follow(t, p, page, "all tasks"), "[1 1 2 2 3]", "1 to 5 of 1800")
	check("groups by function", follow(t, p, follow(t, p, page, "function"), "function"), "[]", `aria-sort="descending"`)
	check("no such group", pageOf(t, p, "open=12&refresh=9"), "[]", "No task.")
	if got := fmt.Sprint(numbers(anyGroup, follow(t, p, page, "tasks"))); got != "[600 1200]" {
		t.Errorf("the smallest first: groups %s", got)
	}
}

// TestPageTimes: of the kinds of task as many rows are shown as there is room for, and how many
// there are more.
func TestPageTimes(t *testing.T) {
	p := crowd(2, 1)
	for _, l := range p.Loops {
		for i := range 11 {
			l.Times = append(l.Times, inspect.Times{Kind: fmt.Sprint("kind-", i)})
		}
	}
	p.Loops[0].Times[1].Worst = &inspect.ReadyWait{Task: "a #1", For: time.Second, Ahead: 3, Longest: "b #2", LongestFor: time.Millisecond}
	p.Loops[0].Times[2].Worst = &inspect.ReadyWait{Task: "c #3", For: time.Second} // nobody ran meanwhile
	page := pageOf(t, p, "")
	if strings.Contains(page, "before c #3") {
		t.Error("of a task before which nobody ran, it is said who did")
	}
	for _, want := range []string{"<td>loop-0</td><td>all</td>", "<td>loop-0</td><td>kind-10</td>", "3 steps before a #1; b #2 for 1ms", "and 11 more"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "<td>loop-1</td><td>all</td>") {
		t.Error("there is a row below those for which there is room")
	}
}

var anyThing = regexp.MustCompile(`<tr><td>([^<]*)</td><td>([^<]*)</td><td>(?:<a href="([^"]*)">)?([^<]*)(?:</a>)?</td><td class="n">(\d+)</td><td class="n">([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td></tr>`)

// TestPageThings: locks and queues have their waiters and holders, those for which most
// wait first, and a link to their waiters.
func TestPageThings(t *testing.T) {
	p := crowd(2, 30)
	for _, l := range p.Loops {
		for i, k := range l.Tasks {
			if k.What == "lock" {
				k.Thing, k.On = 77, 2
			}
			if i == 4 {
				k.What, k.Waiting, k.Thing, k.Since = "get", `get "<jobs>"`, 88, time.Minute
			}
		}
	}
	page := pageOf(t, p, "")
	var got []string
	rows := anyThing.FindAllStringSubmatch(page, -1)
	for _, m := range rows {
		got = append(got, html.UnescapeString(strings.Join(append(m[1:3:3], m[4:]...), "|")))
	}
	want := []string{
		`loop-0|lock|"a&b"|10|30s|#1 writer-0|#2 reader-1|waits 29s for sleep 1s`,
		`loop-0|get|"<jobs>"|1|1m0s|#5 reader-4||`,
		`loop-1|lock|"a&b"|10|30s|#1 writer-0|#2 reader-1|waits 29s for sleep 1s`,
		`loop-1|get|"<jobs>"|1|1m0s|#5 reader-4||`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("the things are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if waiters := pageOf(t, p, html.UnescapeString(rows[1][3])); fmt.Sprint(numbers(anyTask, waiters)) != "[5 5]" {
		t.Errorf("behind the link of jobs are the tasks %v", numbers(anyTask, waiters))
	}
	if page := pageOf(t, crowd(1, 30), ""); strings.Contains(page, "Locks and queues") {
		t.Error("a table without rows")
	}
}

// TestPageFew: of few tasks all are listed with the tree.
func TestPageFew(t *testing.T) {
	page := pageOf(t, crowd(1, 5), "")
	if got := fmt.Sprint(numbers(anyTask, page)); got != "[1 2 3 4 5]" || !strings.Contains(page, "<h2>Tree</h2>") {
		t.Errorf("tasks %s in\n%s", got, page)
	}
	if page := pageOf(t, &inspect.Program{}, ""); !strings.Contains(page, "No loop is running.") || !strings.Contains(page, "0 tasks in 0 loops") {
		t.Errorf("without loops:\n%s", page)
	}
	if page := pageOf(t, crowd(1, 900), "tree=1"); !strings.Contains(page, "<h2>Tree</h2>") {
		t.Errorf("with tree=1:\n%s", page)
	}
}

// TestPageOfMany: of many tasks, also of those that were left out, the tree is drawn when it is
// asked for, and a link asks.
func TestPageOfMany(t *testing.T) {
	few := crowd(1, 5)
	few.Loops[0].Omitted = 900
	for _, p := range []*inspect.Program{crowd(1, 900), few} {
		page := pageOf(t, p, "")
		if strings.Contains(page, "<h2>Tree</h2>") || !strings.Contains(page, "tree=1") {
			t.Errorf("the tree is on the page, or no link to it:\n%.3000s", page)
		}
		if want := fmt.Sprintf("%d tasks in 1 loop", len(p.Loops[0].Tasks)+p.Loops[0].Omitted); !strings.Contains(page, want) {
			t.Errorf("no %q in\n%.3000s", want, page)
		}
	}
}

// TestPageServers: a server's row has all connections that were closed because they were late.
func TestPageServers(t *testing.T) {
	p := crowd(1, 5)
	p.Loops[0].Servers = []inspect.Server{{Name: "web", Accepted: 9000, Silent: 300, Idle: 21}}
	if page := pageOf(t, p, ""); !strings.Contains(page, ">321<") {
		t.Errorf("no 321 in\n%s", page)
	}
}

// TestPageBounded: no page is larger than its bound, though every text in the snapshot
// is long and made of what must be escaped, and every part is as large as it can be;
// and none of it is markup.
func TestPageBounded(t *testing.T) {
	for _, evil := range []string{strings.Repeat(`"><script>'+&`, 40), strings.Repeat("\U0001F600", 128), strings.Repeat("+", 512)} {
		p := crowd(50, 60)
		for i, l := range p.Loops {
			l.Name, l.Short, l.Exact, l.Omitted = evil, "short", false, 5
			l.Held = &inspect.Held{Task: 1, For: time.Hour, How: "computing", Advice: "rest"}
			l.Cycles = [][]uint64{make([]uint64, 100)}
			for range 50 {
				l.Held.Stack = append(l.Held.Stack, inspect.Frame{Func: evil, File: evil, Line: 1 << 30})
			}
			for k, task := range l.Tasks {
				task.Name, task.Func, task.Waiting = evil, fmt.Sprint(k, evil), fmt.Sprint(i, evil)
				task.What, task.Thing, task.On = fmt.Sprint(k), uint64(1+k), 1
			}
			p.Rings = append(p.Rings, make([]inspect.TaskID, 100))
		}
		for _, query := range []string{"", "open=all&limit=100000&tree=1&refresh=1234567890&sort=-switches&groups=-longest"} {
			page := pageOf(t, p, query+"&filter="+url.QueryEscape(evil))
			page += pageOf(t, p, query)
			if strings.Count(page, "<script") != 2 || strings.Contains(page, `"><s`) {
				t.Errorf("a text is markup in\n%s", page)
			}
			if !strings.Contains(page, "loops more") || !strings.Contains(page, "groups more") || !regexp.MustCompile(`<p class="soft">and 29\d\d more</p>`).MatchString(page) {
				t.Error("the page does not say that more was left out")
			}
		}
	}
}
