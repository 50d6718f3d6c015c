// Command crawler visits each page of a site once, several at a time, and prints where
// their links lead. It does not read robots.txt, so try it on your own site:
//
//	go run ./examples/crawler -depth 2 http://localhost:8080/
//
// The frontier is a queue. rondo.Map takes addresses from it, fetches -jobs of them at
// once, and yields the pages in the order of the addresses. One task adds new addresses
// to the queue and owns the map of visited pages, so the map has no lock. A redirect is
// a page with one link.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"log"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/rondo-go/rondo"
)

const pagesMax, bytesMax = 10_000, 1 << 20

// A page is an address and the result of fetching it. links may lead to any site.
type page struct {
	at    *url.URL
	depth int // how many links it is from the start
	links []*url.URL
	err   error
}

// crawl visits start and the pages of the same host that it leads to. It calls found
// with each page, nearest first. An error of fetch ends the crawl.
func crawl(ctx context.Context, start *url.URL, depth, jobs int,
	fetch func(ctx context.Context, p page) (page, error), found func(page)) error {
	frontier, seen, open := rondo.NewQueue[page](0), make(map[string]bool), 0
	add := func(at *url.URL, depth int) {
		u := *at
		if u.Fragment, u.RawFragment = "", ""; u.Path == "" {
			u.Path = "/"
		}
		if u.Scheme == start.Scheme && u.Host == start.Host && !seen[u.String()] && len(seen) < pagesMax {
			seen[u.String()] = true
			open++
			frontier.TryPut(page{at: &u, depth: depth})
		}
	}
	add(start, 0)
	for p, err := range rondo.Map(ctx, jobs, frontier.All(ctx), fetch) {
		if err != nil {
			return err
		}
		found(p)
		for _, at := range p.links {
			if p.depth < depth {
				add(at, p.depth+1)
			}
		}
		if open--; open == 0 {
			frontier.Close() // no fetch is under way that could find more
		}
	}
	return nil
}

var link = regexp.MustCompile(`(?is)<a\s[^>]*?href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)

// A fetcher fetches on a goroutine, where the client of net/http may wait.
type fetcher struct{ http.Client }

// fetch returns p with its links, or with what went wrong, which does not end the
// crawl.
func (f *fetcher) fetch(ctx context.Context, p page) (page, error) {
	links, err := rondo.Offload(ctx, func(ctx context.Context) ([]*url.URL, error) { return f.get(ctx, p.at) })
	p.links, p.err = links, err
	return p, rondo.Check(ctx)
}

func (f *fetcher) get(ctx context.Context, at *url.URL) (links []*url.URL, err error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	a, err := f.Do(q)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	if to, err := a.Location(); err == nil {
		return []*url.URL{to}, nil
	}
	if a.StatusCode != http.StatusOK {
		return nil, errors.New(a.Status)
	}
	if kind, _, err := mime.ParseMediaType(a.Header.Get("Content-Type")); err != nil || kind != "text/html" {
		return nil, nil
	}
	text, err := io.ReadAll(io.LimitReader(a.Body, bytesMax))
	for _, m := range link.FindAllSubmatch(text, -1) {
		to, err := at.Parse(html.UnescapeString(string(m[1]) + string(m[2]) + string(m[3])))
		if err == nil { // an invalid link is ignored
			links = append(links, to)
		}
	}
	return links, err
}

func main() {
	depth := flag.Int("depth", 3, "how many links to follow from the start")
	jobs := flag.Int("jobs", 8, "how many pages to fetch at once")
	limit := flag.Duration("limit", 10*time.Second, "how long a page may take")
	flag.Parse()
	start, err := url.Parse(flag.Arg(0))
	if flag.NArg() != 1 || *jobs < 1 || err != nil || start.Scheme != "http" && start.Scheme != "https" || start.Host == "" {
		log.Fatal("usage: crawler [-depth n] [-jobs n] [-limit duration] http://host/")
	}
	f := &fetcher{http.Client{Timeout: *limit, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	err = (&rondo.Runner{Interrupt: true}).Run(context.Background(), func(ctx context.Context) error {
		return crawl(ctx, start, *depth, *jobs, f.fetch, func(p page) {
			if p.err != nil {
				fmt.Printf("%d %s: %v\n", p.depth, p.at, p.err)
				return
			}
			fmt.Printf("%d %s: %d links\n", p.depth, p.at, len(p.links))
		})
	})
	if err != nil {
		log.Fatal(err)
	}
}
