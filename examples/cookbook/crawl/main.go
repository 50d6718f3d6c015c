// Command crawl visits all pages of a site: 8 requests at once, for 10 s at most.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
)

var href = regexp.MustCompile(`href="([^"]+)"`)

func get(ctx context.Context, client *http.Client, u string) (string, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return "", err
	}
	a, err := client.Do(q) // suspends the task
	if err != nil {
		return "", err
	}
	defer a.Body.Close()
	body, err := io.ReadAll(io.LimitReader(a.Body, 1<<20))
	return string(body), err
}

func crawl(ctx context.Context, start *url.URL) error {
	client, seen := httptask.Client(ctx), map[string]bool{}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.SetLimit(8)
		var visit func(u *url.URL)
		visit = func(u *url.URL) {
			if u.Host != start.Host || seen[u.Path] {
				return
			}
			seen[u.Path] = true // nothing has waited since the look
			g.Go(func(ctx context.Context) error {
				page, err := get(ctx, client, u.String())
				fmt.Println(u.Path, len(page), err)
				for _, link := range href.FindAllStringSubmatch(page, -1) {
					if to, err := u.Parse(link[1]); err == nil {
						visit(to)
					}
				}
				return rondo.Check(ctx) // one bad page does not end the others
			})
		}
		visit(start)
		return nil
	})
}

func main() {
	start, err := url.Parse(os.Args[1])
	if err == nil {
		err = rondo.Run(context.Background(), func(ctx context.Context) error {
			return rondo.Timeout(ctx, 10*time.Second, func(ctx context.Context) error { return crawl(ctx, start) })
		})
	}
	if err != nil {
		log.Fatal(err)
	}
}
