// Command pipe is "seq N | sha256sum", with the program in the middle, which counts the
// lines and shows its progress. A cancellation would end both children.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/process"
)

func pipe(ctx context.Context, n string) (lines int, err error) {
	seq, sum := process.Command(ctx, "seq", n), process.Command(ctx, "sha256sum")
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
	progress := rondo.Go(ctx, func(ctx context.Context) error {
		for range rondo.Every(ctx, 100*time.Millisecond) {
			fmt.Fprintln(os.Stderr, lines, "lines")
		}
		return rondo.Check(ctx)
	})
	defer progress.Cancel(nil)
	s, w := bufio.NewScanner(out), bufio.NewWriter(in)
	for s.Scan() {
		lines++
		fmt.Fprintln(w, s.Text())
	}
	err = errors.Join(s.Err(), w.Flush(), in.Close())
	return lines, errors.Join(err, seq.Wait(), sum.Wait())
}

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		lines, err := pipe(ctx, os.Args[1])
		fmt.Println(lines, "lines")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
}
