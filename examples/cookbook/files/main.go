// Command files prints the SHA-256 of each file below a folder, in order, 8 at a time.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"iter"
	"log"
	"os"
	"path/filepath"

	"github.com/rondo-go/rondo"
)

// walk ranges over the files below dir, and over what it cannot look at: sum says why.
func walk(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if (err != nil || d.Type().IsRegular()) && !yield(path) {
				return fs.SkipAll
			}
			return nil
		})
	}
}

// sum reads on a goroutine, because files block. It touches nothing that tasks share.
func sum(ctx context.Context, path string) (string, error) {
	return rondo.Offload(ctx, func(context.Context) (string, error) {
		data, err := os.ReadFile(path)
		return fmt.Sprintf("%x  %s", sha256.Sum256(data), path), err
	})
}

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		for line, err := range rondo.Map(ctx, 8, walk(os.Args[1]), sum) {
			if err != nil {
				return err
			}
			fmt.Println(line)
		}
		return rondo.Check(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
}
