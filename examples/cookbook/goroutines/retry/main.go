// Command retry is cookbook/retry with goroutines.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"time"
)

// retry calls do until it succeeds or ctx is cancelled. Pauses double from first up to most,
// and are of random length, so that many clients do not come at the same moment.
func retry(ctx context.Context, first, most time.Duration, do func(ctx context.Context) error) error {
	for pause := first; ; pause = min(2*pause, most) {
		err := do(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

func ask(ctx context.Context, address string) (answer string, err error) {
	tries := 0
	err = retry(ctx, 10*time.Millisecond, time.Second, func(ctx context.Context) error {
		tries++
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		defer c.Close()
		defer context.AfterFunc(ctx, func() { c.Close() })() // a read has no ctx
		text, err := io.ReadAll(c)
		answer = string(text)
		return err
	})
	return fmt.Sprintf("%s after %d tries", answer, tries), err
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	answer, err := ask(ctx, os.Args[1])
	fmt.Println(answer)
	if err != nil {
		log.Fatal(err)
	}
}
