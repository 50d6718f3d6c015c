//go:build unix

package process_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
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

// A deadline asks the child to end, waits until it has, and is the error, with how the
// child ended.
func ExampleCommand() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Timeout(ctx, 10*time.Millisecond, func(ctx context.Context) error {
			return process.Command(ctx, "sleep", "3600").Run()
		})
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output:
	// rondo: process sleep: context deadline exceeded; it ended with signal: terminated
	// true
}

// A child that is to outlive its parent belongs to no scope: os/exec starts it. In a
// session of its own Ctrl-C at the terminal does not reach it.
func Example_outlive() {
	var left *exec.Cmd
	ended := make(chan error, 1)
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.OffloadFunc(ctx, func(context.Context) error {
			left = exec.Command("sleep", "3600")
			left.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := left.Start(); err != nil {
				return err
			}
			go func() { ended <- left.Wait() }() // no zombie, if the child ends first
			return nil
		})
	})
	fmt.Println(err)
	fmt.Println("it runs on:", left.Process.Signal(syscall.Signal(0)) == nil)
	_ = left.Process.Kill()
	fmt.Println(<-ended)
	// Output:
	// <nil>
	// it runs on: true
	// signal: killed
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
