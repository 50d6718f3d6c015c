// Command pipeline prints the SHA-256 of each file below a folder. One task
// walks, some hash, one prints; the queues between them are short, so none gets
// far ahead of the next. The disk and the hashing are other goroutines' work.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"

	"github.com/rondo-go/rondo"
)

// walk puts the files below dir into files.
func walk(ctx context.Context, dir string, files *rondo.Queue[string]) error {
	entries, err := rondo.Offload(ctx, func(context.Context) ([]os.DirEntry, error) { return os.ReadDir(dir) })
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case err != nil:
		case e.IsDir():
			err = walk(ctx, path, files)
		case e.Type().IsRegular():
			err = files.Put(ctx, path)
		}
	}
	return err
}

// hash puts a line into sums for each of files.
func hash(ctx context.Context, files, sums *rondo.Queue[string]) error {
	for path := range files.All(ctx) {
		line, err := rondo.Offload(ctx, func(context.Context) (string, error) {
			text, err := os.ReadFile(path)
			return fmt.Sprintf("%x  %s", sha256.Sum256(text), path), err
		})
		if err != nil {
			return err
		}
		if err := sums.Put(ctx, line); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: pipeline folder")
	}
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		files, sums := rondo.NewQueue[string](16), rondo.NewQueue[string](16)
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				defer files.Close()
				return walk(ctx, os.Args[1], files)
			})
			g.Go(func(ctx context.Context) error {
				defer sums.Close()
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					for range runtime.NumCPU() {
						g.Go(func(ctx context.Context) error { return hash(ctx, files, sums) })
					}
					return nil
				})
			})
			for line := range sums.All(g) {
				fmt.Println(line)
			}
			return nil
		})
	})
	if err != nil {
		log.Fatal(err)
	}
}
