package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/sim"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// site is pages that lead to each other in circles, off the site, and nowhere.
var site = map[string]string{
	"/":       `<a href="/a">a</a> <A class=x HREF='b/'>b</A> <a href=/#top>top</a> <a href="http://nowhere.invalid/">off</a> <a href="mailto:x@y">`,
	"/a":      `<a href="/">home</a> <a href="/b/?x=1&amp;y=2">b</a> <a href="/none">none</a> <a href="%zz">bad</a>`,
	"/b/":     `<a href="c">c</a> <a href="../moved">moved</a> <a href="/loop">loop</a> <a href="/text">text</a>`,
	"/b/c":    `<a href="/deep">deep</a>`,
	"/target": `<a href="/a">a</a>`,
}

// TestCrawl has each page visited once, with a depth that is the shortest, in the
// same order each time.
func TestCrawl(t *testing.T) {
	var mu sync.Mutex // the handlers are goroutines
	visits := make(map[string]int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		visits[r.URL.String()]++
		mu.Unlock()
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/target", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/text":
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, `<a href="/never">`)
		default:
			if site[r.URL.Path] == "" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, site[r.URL.Path])
		}
	}))
	defer s.Close()
	const want = `0 /: 5 links
1 /a: 3 links
1 /b/: 4 links
2 /b/?x=1&y=2: 4 links
2 /none: 404 Not Found
2 /b/c: 1 links
2 /moved: 1 links
2 /loop: 1 links
2 /text: 0 links
`
	for _, jobs := range []string{"1", "3"} {
		mu.Lock()
		clear(visits)
		mu.Unlock()
		output, errors, code := program.Start(t, "-depth", "2", "-jobs", jobs, s.URL).Wait()
		if got := strings.ReplaceAll(output, s.URL, ""); got != want || errors != "" || code != 0 {
			t.Errorf("with %s jobs: exit code %d\n%s%s", jobs, code, got, errors)
		}
		mu.Lock()
		for at, n := range visits {
			if n != 1 {
				t.Errorf("with %s jobs %s was visited %d times", jobs, at, n)
			}
		}
		mu.Unlock()
	}
}

// TestTrouble has pages that never come be given up, and a crawl be interrupted.
func TestTrouble(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<a href="/never">`)
	}))
	defer s.Close()
	defer s.CloseClientConnections() // Close would wait five seconds for them
	output, _, code := program.Start(t, "-limit", "100ms", s.URL).Wait()
	if code != 0 || !strings.Contains(output, "/never: ") || !strings.Contains(output, "Client.Timeout exceeded") {
		t.Errorf("exit code %d: %s", code, output)
	}
	p := program.Start(t, s.URL)
	p.Line()
	p.Interrupt()
	if _, errors, code := p.Wait(); code != 1 || !strings.Contains(errors, "interrupt") {
		t.Errorf("exit code %d: %s", code, errors)
	}
	for _, args := range [][]string{nil, {"localhost"}, {"ftp://localhost/"}, {"-jobs", "0", s.URL}, {s.URL, s.URL}} {
		if _, errors, code := program.Start(t, args...).Wait(); code != 1 || !strings.Contains(errors, "usage: crawler") {
			t.Errorf("%q: exit code %d: %s", args, code, errors)
		}
	}
}

// TestAnyOrder has pages of all kinds of durations: as many at once as may be,
// and no more, and the result is always the same.
func TestAnyOrder(t *testing.T) {
	start, err := url.Parse("http://h/")
	if err != nil {
		t.Fatal(err)
	}
	sim.Test(t, func(ctx context.Context) {
		now, most, got := 0, 0, []string{}
		err := crawl(ctx, start, 3, 4, func(ctx context.Context, p page) (page, error) {
			now++
			most = max(most, now)
			err := rondo.Sleep(ctx, time.Duration(sim.Rand(ctx).IntN(100))*time.Millisecond)
			now--
			for _, to := range []string{"l", "r", "/"} {
				p.links = append(p.links, p.at.JoinPath(to))
			}
			if p.at.Path == "/l" {
				p.links, p.err = nil, errors.New("gone")
			}
			return p, err
		}, func(p page) { got = append(got, p.at.Path) })
		want := []string{"/", "/l", "/r", "/r/l", "/r/r", "/r/", "/r/l/l", "/r/l/r", "/r/l/", "/r/r/l", "/r/r/r", "/r/r/"}
		sim.Sometimes(ctx, most == 4, "as many at once as may be")
		if err != nil || most > 4 || !slices.Equal(got, want) {
			t.Errorf("%v, %d at once: %q", err, most, got)
		}
	})
}
