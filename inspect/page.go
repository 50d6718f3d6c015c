package inspect

// The page that Handler serves. What is open and how it is sorted is in
// the address, which a refresh repeats. Its one script is page.js, which replaces what has
// changed; without scripts the browser loads the page anew. Whatever the program does, a
// page has no more than mostPage bytes.

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html page.js
var files embed.FS

// script is the page's, and policy allows no other.
var script, policy = func() (template.JS, string) {
	text, err := files.ReadFile("page.js")
	if err != nil {
		panic(err) // It is embedded.
	}
	sum := sha256.Sum256(text)
	return template.JS(text), "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; connect-src 'self'; form-action 'self'; frame-ancestors 'self'"
}()

var page = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"short": short, "share": share, "count": count,
	"clip": clip, "changes": changes, "connected": connected,
}).ParseFS(files, "page.html"))

// refresh is how often the page takes a new snapshot by default.
const refresh = 2 * time.Second

// mostPage is how many bytes a page has at most. Each part has its share, in bytes; the
// rest, 12 KiB, is for the frame of the page, its script, its charts, and the headings,
// whose links repeat the filter. The tables have a number of rows at most as well.
const (
	mostPage    = 64 << 10
	loopBytes   = 6 << 10
	serveBytes  = 2 << 10
	faultBytes  = 6 << 10
	groupBytes  = 8 << 10
	taskBytes   = 16 << 10
	thingBytes  = 4 << 10
	treeBytes   = 4 << 10
	timesBytes  = 3 << 10
	ownBytes    = 3 << 10
	besideBytes = 1 << 10

	mostJSON   = 10_000 // tasks of a loop that are written as JSON by default
	mostGroups = 40
	mostThings = 20
	mostRows   = 50
	mostFrames = 12   // of a step that holds a loop
	mostLines  = 2000 // of the tree
	fewTasks   = 20   // are all shown, with the tree, though nothing was opened
)

// space is how many bytes a part of the page may still have.
type space int

// take reports whether the texts fit, with so many bytes of markup, and takes the
// room for them.
func (s *space) take(markup int, texts ...string) bool {
	for _, text := range texts {
		// html/template also escapes the plus sign, as &#43;.
		markup += len(template.HTMLEscapeString(text)) + 4*strings.Count(text, "+")
	}
	*s -= space(markup)
	return *s >= 0
}

// A pageChoice is what the page shows, as its address says.
type pageChoice struct {
	every  int
	filter string
	limit  int    // tasks at most
	from   int    // the first of them, of those that match
	groups order  // the order of the groups
	tasks  order  // the order of the tasks
	open   string // the key of the group that is open, or "all"; "" for none
	tree   bool
}

// pageChoiceOf reads the query of an address. What it does not understand is left out.
func pageChoiceOf(q url.Values) pageChoice {
	c := pageChoice{
		every: int(refresh / time.Second), limit: min(limit(q, mostRows), mostJSON),
		groups: groupColumns.order(q.Get("groups"), "-tasks"), tasks: taskColumns.order(q.Get("sort"), "id"),
		tree: q.Get("tree") == "1",
	}
	if c.filter = q.Get("filter"); len(c.filter) > mostText {
		c.filter = strings.ToValidUTF8(c.filter[:mostText], "")
	}
	if n, err := strconv.Atoi(q.Get("refresh")); err == nil && n >= 0 {
		c.every = n
	}
	if n, err := strconv.Atoi(q.Get("from")); err == nil && n > 0 {
		c.from = n
	}
	if open := q.Get("open"); len(open) <= len("all")+16 {
		c.open = open
	}
	return c
}

// link returns the address of the page with this choice.
func (c pageChoice) link() template.URL {
	q := url.Values{}
	set := func(key, value string, otherwise any) {
		if value != otherwise {
			q.Set(key, value)
		}
	}
	set("refresh", strconv.Itoa(c.every), strconv.Itoa(int(refresh/time.Second)))
	set("filter", c.filter, "")
	set("limit", strconv.Itoa(c.limit), strconv.Itoa(mostRows))
	set("from", strconv.Itoa(c.from), "0")
	set("groups", string(c.groups), "-tasks")
	set("sort", string(c.tasks), "id")
	set("open", c.open, "")
	if c.tree {
		q.Set("tree", "1")
	}
	return template.URL("?" + q.Encode())
}

// hidden returns what a form of the page must repeat.
func (c pageChoice) hidden() url.Values {
	c.filter, c.from = "", 0
	_, query, _ := strings.Cut(string(c.link()), "?")
	// It was written by Encode.
	q, _ := url.ParseQuery(query)
	return q
}

// A view is what the page shows of a snapshot.
type view struct {
	*Program
	Every     int
	Filter    string
	Hidden    url.Values
	Tasks     int // in all loops, those that were not read included
	Matching  int
	Unread    int
	Loops     []*Loop
	MoreLoops int

	Servers     []serverRow
	MoreServers int

	Script    template.JS
	Charts    []chart
	Own       []table
	Times     timesTable
	Faults    faults
	Groups    groupTable
	Things    thingTable
	Rows      taskTable
	Tree      string
	Beside    string // the goroutines that run no task
	TreeLink  template.URL
	TreeShown bool
	TreeAsked bool // by the address
}

// newView makes a page of a snapshot. Tasks that do not match are not in it.
func newView(p *Program, c pageChoice) view {
	v := view{Program: p, Script: script, Every: c.every, Filter: c.filter, Hidden: c.hidden()}
	room := space(loopBytes)
	filter := strings.ToLower(c.filter)
	var tasks []row
	for _, l := range p.Loops {
		v.Tasks, v.Unread = v.Tasks+len(l.Tasks)+l.Omitted, v.Unread+l.Omitted
		if room.take(285, clip(l.Name), changes(l), digits(l.Switches), digits(l.Turns), connected(l)) {
			v.Loops = append(v.Loops, l)
		} else {
			v.MoreLoops++
		}
		for _, t := range l.Tasks {
			if matches(t, filter) {
				tasks = append(tasks, row{t, l})
			}
		}
	}
	v.Matching = len(tasks)
	v.Servers, v.MoreServers = serverRows(p)
	v.Times = newTimesTable(p)
	v.Faults = newFaults(p)
	v.Groups = newGroupTable(tasks, c)
	v.Things = newThingTable(p, c)
	v.Beside = besideText(p)
	v.Rows = newTaskTable(tasks, c)
	if v.Rows.Shown && c.open != "all" {
		// The open group is shown in its row if it has one.
		for i := range v.Groups.Rows {
			v.Rows.InRow = v.Rows.InRow || v.Groups.Rows[i].Open
		}
	}
	v.TreeAsked, v.TreeShown = c.tree, c.tree || few(p)
	if v.TreeShown {
		v.Tree = treeText(p)
	}
	c.tree = !c.tree
	v.TreeLink = c.link()
	return v
}

// A timesRow is what the page shows of the times of one kind of task.
type timesRow struct {
	Times
	Loop string
}

// Meanwhile says who ran while a task was ready for the longest time.
func (t timesRow) Meanwhile() string {
	w := t.Worst
	if w == nil || w.Longest == "" {
		return ""
	}
	return fmt.Sprintf("%s before %s; %s for %s", count(w.Ahead, "step"), clip(w.Task), clip(w.Longest), short(w.LongestFor))
}

// A timesTable is the table of times.
type timesTable struct {
	Rows []timesRow
	More int // kinds for which there is no room
}

func newTimesTable(p *Program) (table timesTable) {
	room := space(timesBytes)
	for _, l := range p.Loops {
		for i, t := range l.Times {
			if t.Kind = clip(t.Kind); i == 0 {
				t.Kind = "all"
			}
			row := timesRow{t, clip(l.Name)}
			if table.More > 0 || !room.take(260, row.Loop, row.Kind, row.Meanwhile()) {
				table.More++
				continue
			}
			table.Rows = append(table.Rows, row)
		}
	}
	return table
}

// A serverRow is what the page shows of a server.
type serverRow struct {
	Server
	Loop string
}

// Refused is how many connections were closed at once, and Late how many because of a limit
// of time.
func (s serverRow) Refused() int64 { return s.RefusedByAddr + s.RefusedByRate }
func (s serverRow) Late() int64    { return s.Silent + s.Idle }

// serverRows returns the servers that the page has room for, and how many more there are.
func serverRows(p *Program) (rows []serverRow, more int) {
	room := space(serveBytes)
	for _, l := range p.Loops {
		for _, s := range l.Servers {
			row := serverRow{s, l.Name}
			if more > 0 || !room.take(210, clip(s.Name), clip(l.Name), fmt.Sprint(s.Open, s.Accepted, row.Refused(), s.Handshakes, row.Late(), s.PeerClosed, s.Errors, s.Panics)) {
				more++
				continue
			}
			rows = append(rows, row)
		}
	}
	return rows, more
}

// few reports whether the snapshot is so small that all of it is shown.
func few(p *Program) bool {
	n := 0
	for _, l := range p.Loops {
		n += len(l.Tasks) + l.Omitted
	}
	return n <= fewTasks
}

// cut shortens a line to as many characters as ten cells of a table have.
func cut(line string) string {
	if r := []rune(strings.TrimSuffix(line, "\n")); len(r) > 10*mostText {
		return string(r[:10*mostText]) + "…"
	}
	return strings.TrimSuffix(line, "\n")
}

// besideText lists the goroutines that run no task, as many groups of them as a page has room for.
func besideText(p *Program) string {
	var out strings.Builder
	out.WriteString(p.goroutinesHead())
	room := space(besideBytes)
	for _, g := range p.GoroutineGroups(false) {
		line := clip("  "+groupLine(g)) + "\n"
		if !room.take(0, line) {
			out.WriteString("... more: rondo tree shows all\n")
			break
		}
		out.WriteString(line)
	}
	return out.String()
}

// treeText draws the tree, as many lines of it as a page has room for.
func treeText(p *Program) string {
	var whole, out strings.Builder
	_ = p.WriteTree(&whole, TreeOptions{MaxLines: mostLines})
	room := space(treeBytes)
	for line := range strings.Lines(whole.String()) {
		line = cut(line) + "\n"
		if !room.take(0, line) {
			out.WriteString("... more: rondo tree shows all\n")
			break
		}
		out.WriteString(line)
	}
	return out.String()
}

// matches reports whether a text in small letters, which may be of any length, occurs in what is
// said of the task.
func matches(t *Task, text string) bool {
	if text == "" {
		return true
	}
	for _, s := range []string{t.Name, t.State, t.Waiting, t.Func, "#" + strconv.FormatUint(t.ID, 10)} {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	return false
}

// limit returns how many tasks of each loop are asked for.
func limit(q url.Values, otherwise int) int {
	if n, err := strconv.Atoi(q.Get("limit")); err == nil && n > 0 {
		return min(n, mostRead)
	}
	return otherwise
}
