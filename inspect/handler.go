package inspect

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed page.html
var files embed.FS

var page = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"short": short, "share": share, "count": count, "own": own,
}).ParseFS(files, "page.html"))

// refresh is how often the page takes a new picture by default.
const refresh = 2 * time.Second

// Bounds on what one request costs the program: how many tasks of each loop are
// read, shown in a row and written as JSON by default, how many lines of the tree are
// shown, and how long the reading takes.
const (
	mostRead  = 100_000
	mostRows  = 1000
	mostJSON  = 10_000
	mostLines = 2000
	mostTime  = 5 * time.Second
)

// Handler serves the picture of the calling program. The query says in what form:
//
//	          a page that refreshes itself every two seconds
//	format=json     JSON, as Picture.WriteJSON writes it; also if the client accepts nothing else
//	format=metrics  text for Prometheus, as Picture.WriteMetrics writes it
//	refresh=10      the page refreshes every ten seconds; with 0, never
//	filter=text     only tasks whose row contains the text
//	limit=N         N tasks of each loop at most, up to 100,000; by default 1,000 on the page and 10,000 as JSON
//
// What a request costs the program is bounded: 100,000 tasks of each loop are read
// at most, in five seconds, and requests are answered one after the other. It shows what the program
// does, with function names and addresses of peers: expose it to operators only. It
// is a handler for net/http, on goroutines, and asks nothing of the loops, so it
// answers when one hangs.
func Handler() http.Handler { return http.HandlerFunc(serve) }

// serving has each picture be taken and written by one request at a time.
var serving sync.Mutex

func serve(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "inspect: only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	kind, body, err := answer(req)
	if err != nil {
		http.Error(w, "inspect: "+err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'self'")
	// The client may have closed the connection, which is not an error.
	_, _ = body.WriteTo(w)
}

// answer returns the type and the text of an answer.
func answer(req *http.Request) (kind string, body *bytes.Buffer, err error) {
	serving.Lock()
	defer serving.Unlock()
	q, body := req.URL.Query(), new(bytes.Buffer)
	metrics := q.Get("format") == "metrics"
	p, err := snapshot(Options{Stacks: !metrics, MaxTasks: mostRead, MaxTime: mostTime})
	if err != nil {
		return "", nil, err
	}
	switch {
	case metrics:
		return "text/plain; version=0.0.4; charset=utf-8", body, p.WriteMetrics(body)
	case wantsJSON(req):
		p.keep(q.Get("filter"), limit(q, mostJSON))
		return "application/json", body, p.WriteJSON(body)
	}
	every := int(refresh / time.Second)
	if n, err := strconv.Atoi(q.Get("refresh")); err == nil && n >= 0 {
		every = n
	}
	return "text/html; charset=utf-8", body, page.Execute(body, newView(p, every, q.Get("filter"), limit(q, mostRows)))
}

// limit returns how many tasks of each loop are asked for.
func limit(q url.Values, otherwise int) int {
	if n, err := strconv.Atoi(q.Get("limit")); err == nil && n > 0 {
		return min(n, mostRead)
	}
	return otherwise
}

func wantsJSON(req *http.Request) bool {
	if f := req.URL.Query().Get("format"); f != "" {
		return f == "json"
	}
	accept := req.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// keep drops the tasks of each loop that do not match, and those after so many.
func (p *Picture) keep(filter string, most int) {
	for _, l := range p.Loops {
		kept := l.Tasks[:0]
		for _, t := range l.Tasks {
			if len(kept) < most && t.matches(filter) {
				kept = append(kept, t)
			} else {
				l.Omitted++
			}
		}
		clear(l.Tasks[len(kept):])
		l.Tasks = kept
	}
}

// A view is what the page shows of a picture.
type view struct {
	*Picture
	Every  int
	Filter string
	Tree   string
	Views  []loopView
}

type loopView struct {
	*Loop
	Rows    []*Task
	Changes string // what happened while the picture was taken
	More    int    // tasks that match and are not shown
	Who     string
}

func newView(p *Picture, every int, filter string, most int) view {
	v := view{Picture: p, Every: every, Filter: filter}
	for _, l := range p.Loops {
		lv := loopView{Loop: l, Changes: l.changes(), More: l.Omitted}
		if l.Held != nil && l.Held.Task != 0 {
			lv.Who = l.label(l.Held.Task)
		}
		for _, t := range l.Tasks {
			switch {
			case !t.matches(filter):
			case len(lv.Rows) < most:
				lv.Rows = append(lv.Rows, t)
			default:
				lv.More++
			}
		}
		v.Views = append(v.Views, lv)
	}
	var text strings.Builder
	// Writing to a Builder does not fail.
	_ = p.WriteTree(&text, TreeOptions{MaxLines: mostLines})
	v.Tree = text.String()
	return v
}

// matches reports whether the text occurs in what is said of the task.
func (t *Task) matches(text string) bool {
	text = strings.ToLower(text)
	for _, s := range []string{t.Name, t.State, t.Waiting, t.Func, "#" + strconv.FormatUint(t.ID, 10)} {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	return false
}
