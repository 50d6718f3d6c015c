// Command retry asks a server that is often not there, again and again, each time after a
// longer pause, and with a limit for the whole.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// retry calls do until it succeeds or ctx is cancelled. Pauses double from first up to most,
// and are of random length, so that many clients do not come at the same moment.
func retry(ctx context.Context, first, most time.Duration, do func(ctx context.Context) error) error {
	for pause := first; ; pause = min(2*pause, most) {
		err := do(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if ended := rondo.Sleep(ctx, pause/2+rand.N(pause/2)); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

func ask(ctx context.Context, address string) (answer string, err error) {
	tries := 0
	err = retry(ctx, 10*time.Millisecond, time.Second, func(ctx context.Context) error {
		tries++
		c, err := socket.Dial(ctx, "tcp", address)
		if err != nil {
			return err
		}
		defer c.Close()
		text, err := io.ReadAll(c)
		answer = string(text)
		return err
	})
	return fmt.Sprintf("%s after %d tries", answer, tries), err
}

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Timeout(ctx, 10*time.Second, func(ctx context.Context) error {
			answer, err := ask(ctx, os.Args[1])
			fmt.Println(answer)
			return err
		})
	})
	if err != nil {
		log.Fatal(err)
	}
}
