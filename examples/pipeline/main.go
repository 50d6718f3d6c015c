// Command pipeline prints the SHA-256 of each file below a folder, in order. One task
// walks the folder, several hash, and one prints; short queues keep them in step. The
// first error ends all stages, and so does Ctrl-C. Other goroutines read the disk and
// compute the hashes. To try it:
//
//	go run ./examples/pipeline . | sha256sum -c --quiet
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
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

// hash returns the line for a file.
func hash(ctx context.Context, path string) (string, error) {
	return rondo.Offload(ctx, func(context.Context) (string, error) {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		h := sha256.New()
		_, err = io.Copy(h, f)
		return fmt.Sprintf("%x  %s", h.Sum(nil), path), err
	})
}

// pipeline has three stages: walk puts files into a short queue, rondo.Map hashes jobs
// of them at once, and print takes the results in order.
func pipeline(ctx context.Context, jobs int,
	walk func(context.Context, *rondo.Queue[string]) error,
	work func(context.Context, string) (string, error),
	print func(context.Context, string) error) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		files := rondo.NewQueue[string](16)
		g.Go(func(ctx context.Context) error {
			defer files.Close()
			return walk(ctx, files)
		})
		for line, err := range rondo.Map(g, jobs, files.All(g), work) {
			if err == nil {
				err = print(g, line)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: pipeline folder")
	}
	err := (&rondo.Runner{Interrupt: true}).Run(context.Background(), func(ctx context.Context) error {
		return pipeline(ctx, runtime.NumCPU(),
			func(ctx context.Context, files *rondo.Queue[string]) error { return walk(ctx, os.Args[1], files) },
			hash,
			func(ctx context.Context, line string) error {
				_, err := rondo.Offload(ctx, func(context.Context) (int, error) { return fmt.Println(line) })
				return err
			})
	})
	if err != nil {
		log.Fatal(err)
	}
}
