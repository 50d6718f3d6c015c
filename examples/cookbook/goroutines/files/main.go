// Command files is cookbook/files with goroutines.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// A result is the line for a file, or what went wrong.
type result struct {
	line string
	err  error
}

func sum(path string) result {
	data, err := os.ReadFile(path)
	return result{fmt.Sprintf("%x  %s", sha256.Sum256(data), path), err}
}

// hash sends the results in order: each file has a channel, and the channels are in order.
func hash(dir string) error {
	g, ctx := errgroup.WithContext(context.Background())
	order := make(chan chan result, 8)
	g.Go(func() error {
		defer close(order)
		return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			out := make(chan result, 1)
			select {
			case order <- out:
				go func() { out <- sum(path) }()
				return nil
			case <-ctx.Done():
				return fs.SkipAll
			}
		})
	})
	g.Go(func() error {
		for out := range order {
			r := <-out
			if r.err != nil {
				return r.err
			}
			fmt.Println(r.line)
		}
		return nil
	})
	return g.Wait()
}

func main() {
	if err := hash(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}
