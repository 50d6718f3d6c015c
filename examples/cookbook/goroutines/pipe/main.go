// Command pipe is cookbook/pipe with goroutines.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

func pipe(ctx context.Context, n string) (lines int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var count atomic.Int64
	var progress sync.WaitGroup
	defer progress.Wait()
	defer cancel() // ends progress, and after an error the children
	seq, sum := exec.CommandContext(ctx, "seq", n), exec.CommandContext(ctx, "sha256sum")
	sum.Stdout = os.Stdout
	out, err := seq.StdoutPipe()
	if err != nil {
		return 0, err
	}
	in, err := sum.StdinPipe()
	if err != nil {
		return 0, err
	}
	if err := errors.Join(seq.Start(), sum.Start()); err != nil {
		return 0, err
	}
	progress.Go(func() {
		every := time.NewTicker(100 * time.Millisecond)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				fmt.Fprintln(os.Stderr, count.Load(), "lines")
			case <-ctx.Done():
				return
			}
		}
	})
	s, w := bufio.NewScanner(out), bufio.NewWriter(in)
	for s.Scan() {
		count.Add(1)
		fmt.Fprintln(w, s.Text())
	}
	err = errors.Join(s.Err(), w.Flush(), in.Close())
	return count.Load(), errors.Join(err, seq.Wait(), sum.Wait())
}

func main() {
	lines, err := pipe(context.Background(), os.Args[1])
	fmt.Println(lines, "lines")
	if err != nil {
		log.Fatal(err)
	}
}
