//go:build unix

package process_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/process"
)

// A filter: one task writes to it, another reads from it, and the third waits.
func Example() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		sort := process.Command(ctx, "sort")
		in, err := sort.StdinPipe()
		if err != nil {
			return err
		}
		out, err := sort.StdoutPipe()
		if err != nil {
			return err
		}
		if err := sort.Start(); err != nil {
			return err
		}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(context.Context) error {
				_, err := io.WriteString(in, "Oslo\nLima\nKyoto\n")
				return errors.Join(err, in.Close())
			})
			g.Go(func(context.Context) error {
				sorted, err := io.ReadAll(out)
				fmt.Print(string(sorted))
				return err
			})
			return sort.Wait()
		})
	})
	fmt.Println(err)
	// Output:
	// Kyoto
	// Lima
	// Oslo
	// <nil>
}

// A deadline asks the child to end, waits until it has, and is the error.
func ExampleCommand() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Timeout(ctx, 10*time.Millisecond, func(ctx context.Context) error {
			return process.Command(ctx, "sleep", "3600").Run()
		})
	})
	fmt.Println(err)
	// Output: context deadline exceeded
}

func ExampleCmd_Output() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		c := process.Command(ctx, "sh", "-c", "tr a-z A-Z; echo no such door >&2; exit 3")
		c.Stdin = strings.NewReader("hello")
		out, err := c.Output()
		fmt.Println(string(out), err)
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			fmt.Print(string(exit.Stderr))
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// HELLO exit status 3
	// no such door
	// <nil>
}
