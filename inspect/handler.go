package inspect

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds on what one request costs the program: how many tasks of each loop are read, and
// how long the reading takes.
const (
	mostRead = 100_000
	mostTime = 5 * time.Second
)

// timesFor is how far back the times of steps on the page and in the metrics go.
const timesFor = 10 * time.Second

// Handler serves the snapshot of the calling program. The query says in what form:
//
//	          a page that refreshes itself every two seconds
//	format=json     JSON, as Program.WriteJSON writes it; also if the client accepts nothing else
//	format=flight   what the tasks did in the time before, a Flight as JSON; last=10s says how long
//	format=metrics  text for Prometheus, as Program.WriteMetrics writes it
//	refresh=10      the page refreshes every ten seconds; with 0, never
//	filter=text     only tasks whose row contains the text
//	stacks=N        as JSON only the stack of the task N of each loop; with 0, none; it may be given
//	                several times
//	times=10s       as JSON with Loop.Times of so long before; the page and the metrics have 10 s
//	goroutines=1    as JSON also the goroutines that run no task, with their stacks
//	limit=N         N tasks at most: as JSON of each loop, up to 100,000, by default 10,000;
//	                on the page by default 50, and the next N are behind a link
//
// A form that does not exist and a number or time that is none are refused, with status 400.
//
// The page shows the tasks in groups, by what they wait for and by function. A click on a group
// opens it, and one on the heading of a column sorts by it. Charts of the last five minutes are
// made of the snapshots that requests have taken. AddTable adds tables of the program's own. A
// page has 64 KiB at most, whatever is asked for. It has one script, which replaces what has
// changed, and its security policy allows no other; without it the browser loads the page anew.
// Answers are compressed if the client accepts gzip.
//
// What a request costs the program is bounded: 100,000 tasks of each loop are read
// at most, in five seconds, and requests are answered one after the other. It shows
// what the program does, with function names and addresses of peers: expose it to
// operators only. It is a handler for net/http, on goroutines, and asks nothing of the
// loops, so it answers when one hangs.
//
// Requests whose Host is a name other than localhost and those given are refused, with status
// 403: otherwise a page of another site could reach the handler through a name of its own that
// resolves to this machine (DNS rebinding). An address is no name, and is not refused.
func Handler(hosts ...string) http.Handler {
	known := append([]string{"localhost"}, hosts...)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if name := hostOf(req); !isKnown(name, known) {
			http.Error(w, fmt.Sprintf("inspect: the host %q is not known: reach it by its address or as localhost, or name the host in the call of inspect.Handler", clip(name)), http.StatusForbidden)
			return
		}
		serve(w, req)
	})
}

// hostOf returns the host that a request names, without the port.
func hostOf(req *http.Request) string {
	name := req.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	return strings.TrimSuffix(strings.Trim(name, "[]"), ".")
}

// isKnown reports whether a host is an address, or one of the names. Without one, which only a
// client of HTTP/1.0 may leave out, no browser asks.
func isKnown(host string, names []string) bool {
	if _, err := netip.ParseAddr(host); err == nil || host == "" {
		return true
	}
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(strings.TrimSuffix(name, "."), host) })
}

// serving lets one request at a time take a snapshot and write it. seenLately has the figures of
// the snapshots of the last five minutes.
var (
	serving    sync.Mutex
	seenLately past
)

func serve(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "inspect: only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	kind, body, err := answer(req)
	if err != nil {
		status := http.StatusInternalServerError
		if _, bad := err.(badQuery); bad {
			status = http.StatusBadRequest
		}
		http.Error(w, "inspect: "+err.Error(), status)
		return
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", policy)
	h.Set("Vary", "Accept-Encoding")
	if body.Len() > leastPacked && acceptsGzip(req) {
		h.Set("Content-Encoding", "gzip")
		body = packed(body)
	}
	// The client may have closed the connection, which is not an error.
	_, _ = body.WriteTo(w)
}

// A badQuery says what is wrong with a request's query.
type badQuery string

func (e badQuery) Error() string { return string(e) }

// leastPacked is how many bytes an answer has that is compressed: what fits into one
// packet takes one packet either way.
const leastPacked = 1400

// acceptsGzip reports whether a request allows an answer that is compressed by gzip.
func acceptsGzip(req *http.Request) bool {
	for one := range strings.SplitSeq(strings.Join(req.Header.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(one), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
			return weight == "" || err == nil && q > 0
		}
	}
	return false
}

// packed compresses a text, quickly: a refresh every two seconds must cost the program
// little.
func packed(text *bytes.Buffer) *bytes.Buffer {
	out := new(bytes.Buffer)
	z, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err != nil {
		panic(err) // There is such a level.
	}
	// Writing to a Buffer does not fail.
	_, _ = z.Write(text.Bytes())
	_ = z.Close()
	return out
}

// answer returns the type and the text of an answer.
func answer(req *http.Request) (kind string, body *bytes.Buffer, err error) {
	q, body := req.URL.Query(), new(bytes.Buffer)
	if err := checkQuery(q); err != nil {
		return "", nil, err
	}
	metrics, flight := q.Get("format") == "metrics", q.Get("format") == "flight"
	var own []table
	if !metrics && !flight && !wantsJSON(req) {
		own = ownTables(req.Context())
	}
	serving.Lock()
	defer serving.Unlock()
	// A client that has gone while others were answered costs the next one no snapshot.
	if err := req.Context().Err(); err != nil {
		return "", nil, err
	}
	if flight {
		return "application/json", body, writeFlight(body, q.Get("last"))
	}
	beside := !metrics && (!wantsJSON(req) || q.Get("goroutines") == "1")
	stacks := !metrics && (wantsJSON(req) || q.Get("tree") == "1")
	o := Options{Stacks: stacks, Goroutines: beside, MaxTasks: mostRead, MaxTime: mostTime}
	if !wantsJSON(req) {
		o.Times = timesFor
	} else if text := q.Get("times"); text != "" {
		if o.Times, err = time.ParseDuration(text); err != nil || o.Times < 0 {
			return "", nil, badQuery(fmt.Sprintf("times is a time that is not negative, such as 10s, not %q", clip(text)))
		}
	}
	if only, ok := q["stacks"]; ok && stacks {
		o.Stacks, o.StacksOf = false, stacksOf(only)
	}
	p, err := snapshot(o)
	if err != nil {
		return "", nil, err
	}
	seenLately.add(p)
	switch {
	case metrics:
		return "text/plain; version=0.0.4; charset=utf-8", body, p.WriteMetrics(body)
	case wantsJSON(req):
		keepMatching(p, q.Get("filter"), limit(q, mostJSON))
		return "application/json", body, p.WriteJSON(body)
	}
	c := pageChoiceOf(q)
	if few(p) && !stacks {
		// The tree is shown, so the stacks are needed.
		o.Stacks = true
		if p, err = snapshot(o); err != nil {
			return "", nil, err
		}
	}
	v := newView(p, c)
	v.Charts, v.Own = seenLately.charts(), own
	return "text/html; charset=utf-8", body, page.Execute(body, v)
}

// checkQuery returns an error if the form that a query asks for does not exist, or its limit is
// no number: an answer in another form, or with more tasks, would look like the one wanted.
func checkQuery(q url.Values) error {
	switch f := q.Get("format"); f {
	case "", "json", "flight", "metrics":
	default:
		return badQuery(fmt.Sprintf("format is json, flight or metrics, not %q", clip(f)))
	}
	if text := q.Get("limit"); text != "" {
		if n, err := strconv.Atoi(text); err != nil || n <= 0 {
			return badQuery(fmt.Sprintf("limit is a whole number from 1 up, not %q", clip(text)))
		}
	}
	return nil
}

// mostStacks bounds how many stacks a request may choose.
const mostStacks = 100

// stacksOf returns the numbers of the tasks whose stacks are asked for.
func stacksOf(texts []string) (ids []uint64) {
	for _, text := range texts[:min(len(texts), mostStacks)] {
		if id, err := strconv.ParseUint(text, 10, 64); err == nil && id > 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

func wantsJSON(req *http.Request) bool {
	if f := req.URL.Query().Get("format"); f != "" {
		return f == "json"
	}
	accept := req.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// keepMatching drops the tasks of each loop that do not match, and those after so many.
func keepMatching(p *Program, filter string, most int) {
	filter = strings.ToLower(filter)
	for _, l := range p.Loops {
		kept := l.Tasks[:0]
		for _, t := range l.Tasks {
			if len(kept) < most && matches(t, filter) {
				kept = append(kept, t)
			} else {
				l.Omitted++
			}
		}
		clear(l.Tasks[len(kept):])
		l.Tasks = kept
	}
}
