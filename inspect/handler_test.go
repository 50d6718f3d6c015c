//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
)

// get asks the handler of a program in which three tasks sleep.
func get(t *testing.T, method, target, accept string) *http.Response {
	t.Helper()
	var response *http.Response
	onLoop(t, "served", func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for _, name := range []string{"one", "<two>", "three"} {
				g.Go(func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }).SetName(name)
			}
			if err := rondo.Yield(g); err != nil {
				return err
			}
			loop := rondo.LoopOf(ctx)
			_, err := rondo.Offload(g, func(context.Context) (int, error) {
				// It may be here before the task waits for it. What is posted runs after that.
				waits := make(chan struct{})
				if err := loop.Post(func() { close(waits) }); err != nil {
					return 0, err
				}
				<-waits
				recorder := httptest.NewRecorder()
				req := httptest.NewRequest(method, target, nil)
				req.Host = "localhost:80"
				req.Header.Set("Accept", accept)
				inspect.Handler().ServeHTTP(recorder, req)
				response = recorder.Result()
				return 0, nil
			})
			g.Cancel(nil)
			return err
		})
	})
	return response
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestHandlerJSON(t *testing.T) {
	for target, accept := range map[string]string{"/?format=json": "text/html", "/": "application/json"} {
		r := get(t, "GET", target, accept)
		p, err := inspect.ReadJSON(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Loops) != 1 || len(p.Loops[0].Tasks) != 4 || p.Loops[0].Tasks[2].Name != "<two>" || p.Loops[0].Tasks[2].What != "sleep" {
			t.Errorf("%s: %+v; want the snapshot of four tasks", target, p)
		}
	}
}

// TestHandlerGoroutines: as JSON there are the goroutines that run no task if they are asked for.
func TestHandlerGoroutines(t *testing.T) {
	for query, want := range map[string]bool{"": false, "&goroutines=0": false, "&goroutines=1": true} {
		p, err := inspect.ReadJSON(get(t, "GET", "/?format=json"+query, "").Body)
		if err != nil || (len(p.Goroutines) > 0) != want {
			t.Errorf("%q: %d goroutines, %v; want some: %v", query, len(p.Goroutines), err, want)
		}
	}
}

// TestHandlerStacks: as JSON there are the stacks that are asked for, and all if none are named.
func TestHandlerStacks(t *testing.T) {
	for query, want := range map[string]string{"": "1234", "&stacks=0": "", "&stacks=3": "3", "&stacks=0&stacks=2&stacks=4": "24", "&stacks=x": ""} {
		p, err := inspect.ReadJSON(get(t, "GET", "/?format=json"+query, "").Body)
		if err != nil {
			t.Fatal(err)
		}
		have := ""
		for _, k := range p.Loops[0].Tasks {
			if len(k.Stack) > 0 {
				have += fmt.Sprint(k.ID)
			}
		}
		if have != want {
			t.Errorf("%q: the tasks %q have a stack, want %q", query, have, want)
		}
	}
}

func TestHandlerPage(t *testing.T) {
	page := body(t, get(t, "GET", "/?refresh=7", "text/html"))
	for _, want := range []string{`content="7"`, "4 tasks in 1 loop", "<td>served</td>", "&lt;two&gt;", "sleep 1h", `-4"><td class="n">4</td>`, "served: 4 tasks", "handler_test.go"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "<two>") || strings.Count(page, "<script") != 1 {
		t.Error("the page has a task's name as markup, or another script than its own")
	}
	page = body(t, get(t, "GET", "/?filter=THREE&refresh=0", "text/html"))
	if strings.Contains(page, `<td>&lt;two`) || !strings.Contains(page, `<td>three</td>`) || strings.Contains(page, "http-equiv") || !strings.Contains(page, "1 task shown") {
		t.Errorf("filtered by name, without refresh:\n%s", page)
	}
}

// TestHandlerGone: for a client that has gone while others were answered no snapshot is taken.
func TestHandlerGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, query := range []string{"", "?format=json", "?format=metrics", "?format=flight"} {
		recorder := httptest.NewRecorder()
		req := httptest.NewRequestWithContext(ctx, "GET", "/"+query, nil)
		req.Host = "localhost"
		inspect.Handler().ServeHTTP(recorder, req)
		if text := recorder.Body.String(); recorder.Code != http.StatusInternalServerError || !strings.Contains(text, context.Canceled.Error()) {
			t.Errorf("%q: status %d\n%s", query, recorder.Code, text)
		}
	}
}

// TestLongFilter: a filter of any length is put in small letters once, not anew for each task.
func TestLongFilter(t *testing.T) {
	l := new(inspect.Loop)
	for i := range 1000 {
		l.Tasks = append(l.Tasks, &inspect.Task{ID: uint64(i), Name: "x"})
	}
	allocs := func(filter string) float64 {
		return testing.AllocsPerRun(1, func() {
			inspect.KeepMatching(&inspect.Program{Loops: []*inspect.Loop{{Tasks: slices.Clone(l.Tasks)}}}, filter)
		})
	}
	small, large := allocs(strings.Repeat("x", 1<<10)), allocs(strings.Repeat("X", 1<<10))
	if large > small+float64(len(l.Tasks))/2 {
		t.Errorf("for %d tasks a filter in capital letters takes %v allocations, one in small letters %v", len(l.Tasks), large, small)
	}
}

// TestHandlerBounds: a request's answer is as small as it is asked to be, and says
// so; its type is not to be guessed.
func TestHandlerBounds(t *testing.T) {
	r := get(t, "GET", "/?format=json&limit=1&filter=TWO", "")
	p, err := inspect.ReadJSON(r.Body)
	if err != nil || len(p.Loops[0].Tasks) != 1 || p.Loops[0].Tasks[0].Name != "<two>" || p.Loops[0].Omitted != 3 {
		t.Errorf("%+v, %v; want one task of four", p.Loops[0], err)
	}
	if r.Header.Get("X-Content-Type-Options") != "nosniff" ||
		r.Header.Get("Content-Security-Policy") != inspect.Policy {
		t.Errorf("headers %v", r.Header)
	}
	page := body(t, get(t, "GET", "/?limit=2", "text/html"))
	if strings.Count(page, `<tr id="task-`) != 2 || !strings.Contains(page, "1 to 2 of 4") || !strings.Contains(page, `href="?from=2&amp;limit=2">next`) {
		t.Errorf("a page of two tasks of four is\n%s", page)
	}
}

// TestHandlerCompresses: a client that accepts gzip gets the same in fewer bytes.
func TestHandlerCompresses(t *testing.T) {
	for accepts, want := range map[string]string{
		"": "", "br": "", "gzip;q=0, br": "", "gzip": "gzip", "deflate, GZIP; q=0.5": "gzip", "br, gzip;q=1.0": "gzip",
	} {
		recorder, req := httptest.NewRecorder(), httptest.NewRequest("GET", "http://127.0.0.1/", nil)
		if accepts != "" {
			req.Header.Set("Accept-Encoding", accepts)
		}
		inspect.Handler().ServeHTTP(recorder, req)
		r := recorder.Result()
		if got := r.Header.Get("Content-Encoding"); got != want || r.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("accepting %q: encoding %q, vary %q; want %q", accepts, got, r.Header.Get("Vary"), want)
			continue
		}
		sent, page := recorder.Body.Len(), ""
		if want == "" {
			page = body(t, r)
		} else {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			if page = string(text); sent > len(page)*2/3 {
				t.Errorf("accepting %q: %d bytes for a page of %d", accepts, sent, len(page))
			}
		}
		if !strings.HasSuffix(page, "</html>\n\n\n") {
			t.Errorf("accepting %q: the page ends with %q", accepts, page[max(0, len(page)-40):])
		}
	}
}

// TestHandlerMetrics: each line is one of Prometheus' format, and each metric is
// declared once, before its values.
func TestHandlerMetrics(t *testing.T) {
	r := get(t, "GET", "/?format=metrics", "")
	text := body(t, r)
	if kind := r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/plain; version=0.0.4") {
		t.Errorf("type %s", kind)
	}
	declared, values := "", 0
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			declared, _, _ = strings.Cut(name, " ")
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		values++
		if line == "rondo_rings 0\n" && declared == "rondo_rings" {
			continue // it is of all loops
		}
		if !regexp.MustCompile(`^` + declared + `\{loop="served",id="\d+"(,what="[a-z]+")?\} [0-9.e+-]+\n$`).MatchString(line) {
			t.Errorf("below the declaration of %s stands %q", declared, line)
		}
	}
	for _, want := range []string{`rondo_tasks{loop="served",`, "} 4\n", `what="sleep"} 3` + "\n", `what="offload"} 1` + "\n", "rondo_rings 0\n", `rondo_connections{loop="served",`} {
		if !strings.Contains(text, want) || values < 15 {
			t.Errorf("%d values without %q:\n%s", values, want, text)
		}
	}
}

// TestTreeOfFewLines: a tree may be cut, and says so.
func TestTreeOfFewLines(t *testing.T) {
	l := &inspect.Loop{Name: "a"}
	for i := range uint64(5000) {
		l.Tasks = append(l.Tasks, &inspect.Task{ID: 1 + i, Name: fmt.Sprint("task ", i), State: "ready"})
	}
	var text strings.Builder
	p := inspect.Program{Loops: []*inspect.Loop{l}}
	if err := p.WriteTree(&text, inspect.TreeOptions{All: true, MaxLines: 100}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "\n"); n < 100 || n > 250 || !strings.HasSuffix(text.String(), "\n... more than 100 lines\n") {
		t.Errorf("%d lines, the last %q", n, text.String()[text.Len()-40:])
	}
}

func TestHandlerRefusesQuery(t *testing.T) {
	for query, want := range map[string]string{
		"format=json&times=abc": "times is", "format=json&times=-1s": "times is",
		"format=flight&last=abc": "last is", "format=flight&last=0s": "last is",
		"format=metric": "format is", "format=JSON": "format is",
		"limit=ten": "limit is", "format=json&limit=0": "limit is", "format=json&limit=-1": "limit is",
	} {
		res := get(t, "GET", "/?"+query, "")
		if text := body(t, res); res.StatusCode != http.StatusBadRequest || !strings.HasPrefix(text, "inspect: "+want) || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: %s, %.80q", query, res.Status, text)
		}
	}
}

func TestHandlerRefusesPost(t *testing.T) {
	if r := get(t, "POST", "/", ""); r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") == "" {
		t.Errorf("POST: %s, Allow %q; want 405 with Allow", r.Status, r.Header.Get("Allow"))
	}
}

// sink is a Writer that passes on what is written.
type sink struct{ came chan []byte }

func (s sink) Write(p []byte) (int, error) {
	s.came <- bytes.Clone(p)
	return len(p), nil
}

func TestOnSignal(t *testing.T) {
	s := sink{make(chan []byte, 100)}
	stop := inspect.OnSignal(s, syscall.SIGUSR1)
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if text := string(<-s.came); !strings.Contains(text, "tasks in") {
		t.Errorf("on a signal %q was written; want the tree", text)
	}
	stop()
	stop()
}

// TestHandlerHosts: a request for a name that is not known is refused with a sentence; an address
// is no name.
func TestHandlerHosts(t *testing.T) {
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8080": 200, "LOCALHOST.": 200, "127.0.0.1:80": 200, "[::1]:80": 200, "::1": 200, "10.1.2.3": 200, "": 200,
		"pod.example": 200, "Pod.Example:443": 200, "rebind.example": 403, "rebind.example:80": 403, "localhost.rebind.example": 403, "127.0.0.1.rebind.example": 403,
	} {
		recorder, req := httptest.NewRecorder(), httptest.NewRequest("GET", "/?format=metrics", nil)
		req.Host = host
		inspect.Handler("pod.example").ServeHTTP(recorder, req)
		if recorder.Code != want || want == 403 && !strings.Contains(recorder.Body.String(), "is not known: reach it by its address") {
			t.Errorf("host %q: status %d, want %d\n%.100s", host, recorder.Code, want, recorder.Body.String())
		}
	}
}
