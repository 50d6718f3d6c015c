package inspect

import (
	"embed"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html
var files embed.FS

var page = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"short": short, "share": share, "count": count, "own": own,
}).ParseFS(files, "page.html"))

// refresh is how often the page takes a new picture by default.
const refresh = 2 * time.Second

// mostRows is how many tasks of a loop the page's table shows.
const mostRows = 1000

// Handler serves the picture of the calling program: as a page that refreshes
// itself every two seconds, or as JSON if the query has format=json or the client
// accepts nothing else. With ?refresh=10 the page refreshes every ten seconds, with
// ?refresh=0 never. ?filter=text shows the tasks whose row contains the text.
//
// It shows what the program does, with function names and addresses of peers:
// expose it to operators only. It is a handler for net/http, on goroutines, and
// asks nothing of the loops, so it answers when one hangs.
func Handler() http.Handler { return http.HandlerFunc(serve) }

func serve(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "inspect: only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	p, err := Snapshot()
	if err != nil {
		http.Error(w, "inspect: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	if wantsJSON(req) {
		w.Header().Set("Content-Type", "application/json")
		// The client may have closed the connection, which is not an error.
		_ = p.WriteJSON(w)
		return
	}
	every := int(refresh / time.Second)
	if n, err := strconv.Atoi(req.URL.Query().Get("refresh")); err == nil && n >= 0 {
		every = n
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.Execute(w, newView(p, every, req.URL.Query().Get("filter")))
}

func wantsJSON(req *http.Request) bool {
	if f := req.URL.Query().Get("format"); f != "" {
		return f == "json"
	}
	accept := req.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
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

func newView(p *Picture, every int, filter string) view {
	v := view{Picture: p, Every: every, Filter: filter}
	for _, l := range p.Loops {
		lv := loopView{Loop: l, Changes: l.changes()}
		if l.Held != nil && l.Held.Task != 0 {
			lv.Who = l.label(l.Held.Task)
		}
		for _, t := range l.Tasks {
			switch {
			case !t.matches(filter):
			case len(lv.Rows) < mostRows:
				lv.Rows = append(lv.Rows, t)
			default:
				lv.More++
			}
		}
		v.Views = append(v.Views, lv)
	}
	var text strings.Builder
	// Writing to a Builder does not fail.
	_ = p.WriteTree(&text, TreeOptions{})
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
