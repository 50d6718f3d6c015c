//go:build linux && (amd64 || arm64)

package interop_test

// The page of inspect.Handler in headless Chromium.

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
	"github.com/rondo-go/rondo/interop/internal/peer"
)

// browse lets Chromium load an address. It returns the document when all of it is
// loaded, and the browser's complaints.
func browse(t *testing.T, chromium, address string) (document, complaints string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// Its sandbox is not for root, and /dev/shm may be small in a container.
	c := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--user-data-dir="+t.TempDir(), "--enable-logging=stderr", "--dump-dom", address)
	c.Env = append(os.Environ(), "HOME="+t.TempDir())
	var out, log bytes.Buffer
	c.Stdout, c.Stderr = &out, &log
	if err := c.Run(); err != nil {
		t.Errorf("chromium: %v\n%s", err, log.String())
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, ":CONSOLE") {
			complaints += line
		}
	}
	return out.String(), complaints
}

// A shop is a program that serves its page.
type shop struct {
	address string
	queries chan string // of all requests for the page
	said    chan string // by the script in typing
}

// open runs body on a goroutine while a program with four tasks serves its page.
func open(t *testing.T, body func(s *shop)) {
	t.Helper()
	s := &shop{queries: make(chan string, 1000), said: make(chan string, 1)}
	page, mux := inspect.Handler(), http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, req *http.Request) {
		s.queries <- req.URL.RawQuery
		page.ServeHTTP(w, req)
	})
	// The browser has not loaded this page before the picture in it, and that comes
	// when the page inside has been renewed twice, or its form was sent.
	mux.HandleFunc("/outside", func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprint(w, outside)
	})
	mux.HandleFunc("/picture", func(w http.ResponseWriter, req *http.Request) {
		for renewed, sent := 0, false; renewed < 3 || !sent; {
			select {
			case q := <-s.queries:
				renewed += strings.Count(q, "refresh=1")
				sent = sent || q == "filter=till&refresh=0"
			case <-req.Context().Done():
				return
			}
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("/typing", func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprint(w, strings.Replace(typing, "/picture", "/end", 1))
	})
	mux.HandleFunc("/renewed", func(w http.ResponseWriter, req *http.Request) {
		for renewed := 0; renewed < 3; {
			select {
			case q := <-s.queries:
				renewed += strings.Count(q, "refresh=1")
			case <-req.Context().Done():
				return
			}
		}
	})
	ended := make(chan struct{})
	mux.HandleFunc("/said", func(w http.ResponseWriter, req *http.Request) {
		s.said <- req.URL.RawQuery
		close(ended)
	})
	mux.HandleFunc("/end", func(w http.ResponseWriter, req *http.Request) {
		select {
		case <-ended:
		case <-req.Context().Done():
		}
		w.WriteHeader(http.StatusNoContent)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	s.address = server.URL
	r := rondo.Runner{Name: "shop"}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for _, name := range []string{"till", "<b>bold</b>", "<script>nope()</script>"} {
				g.Go(func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }).SetName(name)
			}
			if err := rondo.Yield(g); err != nil {
				return err
			}
			_, err := rondo.Offload(g, func(context.Context) (int, error) {
				body(s)
				return 0, nil
			})
			g.Cancel(nil)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// outside has the page twice: one reloads every second, and in the other a script
// fills in the form and presses the button.
const outside = `<html><link rel="icon" href="data:,"><body><iframe src="/?refresh=1"></iframe>
<iframe src="/?refresh=0" onload="
	this.onload = null
	this.contentDocument.querySelector('input[name=filter]').value = 'till'
	this.contentDocument.querySelector('button').click()"></iframe><img src="/picture"></body></html>`

var taskRow = regexp.MustCompile(`<tr id="task-\d+-(\d+)"`)

// TestInspectPage: the page has a row for each task, shows names as text and not as
// markup, and filters. The browser has no complaints.
func TestInspectPage(t *testing.T) {
	chromium := peer.Need(t, "chromium")
	open(t, func(s *shop) {
		for _, test := range []struct{ query, rows string }{{"refresh=0", "[1 2 3 4]"}, {"refresh=0&filter=TILL", "[2]"}, {"refresh=0&filter=nobody", "[]"}} {
			document, complaints := browse(t, chromium, s.address+"/?"+test.query)
			got := []string{}
			for _, m := range taskRow.FindAllStringSubmatch(document, -1) {
				got = append(got, m[1])
			}
			if fmt.Sprint(got) != test.rows || complaints != "" {
				t.Errorf("%s: rows %v, want %s; complaints %q; the document is\n%s", test.query, got, test.rows, complaints, document)
			}
			want := []string{"4 tasks in 1 loop", "<td>shop</td>", "<h2>Tree</h2>"}
			if test.rows == "[1 2 3 4]" {
				want = append(want, "<td>till</td>", "<td>&lt;b&gt;bold&lt;/b&gt;</td>", "<td>&lt;script&gt;nope()&lt;/script&gt;</td>", "<td>sleep ")
			}
			for _, w := range want {
				if !strings.Contains(document, w) {
					t.Errorf("%s: the document has no %q:\n%s", test.query, w, document)
				}
			}
		}
	})
}

// TestInspectPageLives: the page reloads itself, and its form filters.
func TestInspectPageLives(t *testing.T) {
	chromium := peer.Need(t, "chromium")
	open(t, func(s *shop) {
		if document, complaints := browse(t, chromium, s.address+"/outside"); !strings.Contains(document, "<iframe") || complaints != "" {
			t.Errorf("complaints %q; the document is\n%s", complaints, document)
		}
	})
}

// typing has the page renewed every second while somebody types into its form, and says how that
// stands when it has been renewed twice.
const typing = `<html><link rel="icon" href="data:,"><body><iframe src="/?refresh=1" onload="
	this.onload = null
	const page = this.contentDocument, input = page.querySelector('input[name=filter]'), loop = page.querySelector('td')
	input.focus()
	input.value = 'til'
	input.setSelectionRange(1, 2)
	fetch('/renewed').then(() => setTimeout(() => {
		const kept = [page === this.contentDocument, page.activeElement === input, input.value, input.selectionStart, loop.isConnected, page.querySelectorAll('svg').length]
		new Image().src = '/said?' + kept.join()
	}, 300))"></iframe><img src="/picture"></body></html>`

// TestInspectPageKeeps: the page takes over what has changed, and what is typed into its form
// stays, with the focus.
func TestInspectPageKeeps(t *testing.T) {
	chromium := peer.Need(t, "chromium")
	open(t, func(s *shop) {
		document, complaints := browse(t, chromium, s.address+"/typing")
		if got := <-s.said; got != "true,true,til,1,true,5" || complaints != "" {
			t.Errorf("kept: %s; complaints %q; the document is\n%s", got, complaints, document)
		}
	})
}

// TestBrowserComplains: a script that fails is a complaint, so the tests above would
// see it.
func TestBrowserComplains(t *testing.T) {
	t.Parallel()
	chromium := peer.Need(t, "chromium")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprint(w, "<html><script>nope()</script></html>")
	}))
	defer server.Close()
	if _, complaints := browse(t, chromium, server.URL); !strings.Contains(complaints, "nope is not defined") {
		t.Errorf("the complaints about a script that fails are %q", complaints)
	}
}
