// Command crawl is cookbook/crawl with goroutines.
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
	"sync"
	"time"
)

var href = regexp.MustCompile(`href="([^"]+)"`)

func get(ctx context.Context, u string) (string, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return "", err
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return "", err
	}
	defer a.Body.Close()
	body, err := io.ReadAll(io.LimitReader(a.Body, 1<<20))
	return string(body), err
}

func crawl(ctx context.Context, start *url.URL) error {
	var (
		mu    sync.Mutex
		seen  = map[string]bool{}
		wg    sync.WaitGroup
		slots = make(chan struct{}, 8)
		visit func(u *url.URL)
	)
	visit = func(u *url.URL) {
		mu.Lock()
		known := seen[u.Path]
		seen[u.Path] = true
		mu.Unlock()
		if u.Host != start.Host || known {
			return
		}
		wg.Go(func() {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			defer func() { <-slots }()
			page, err := get(ctx, u.String())
			fmt.Println(u.Path, len(page), err)
			for _, link := range href.FindAllStringSubmatch(page, -1) {
				if to, err := u.Parse(link[1]); err == nil {
					visit(to)
				}
			}
		})
	}
	visit(start)
	wg.Wait()
	return ctx.Err()
}

func main() {
	start, err := url.Parse(os.Args[1])
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = crawl(ctx, start)
	}
	if err != nil {
		log.Fatal(err)
	}
}
