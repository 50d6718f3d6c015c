package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// TestDrainKeepsOrder: a goroutine that reads while the loop drains the pipe gets the
// bytes in order, although another process writes all the time. So does a task.
func TestDrainKeepsOrder(t *testing.T) {
	for round := range 200 {
		err := rondo.Run(context.Background(), func(ctx context.Context) error {
			r, w, err := os.Pipe()
			if err != nil {
				return err
			}
			o, err := (&child{loop: kernel.Of(ctx)}).outlet(r)
			if err != nil {
				return err
			}
			written := make(chan struct{})
			go func() {
				defer close(written)
				defer w.Close()
				for i := range 1 << 20 {
					if _, err := fmt.Fprintln(w, i); err != nil {
						return // the pipe was drained, and closed
					}
				}
			}()
			read := func() (int, error) { return inOrder(o) }
			var n int
			if round%2 == 0 {
				n, err = rondo.Offload(ctx, func(context.Context) (int, error) {
					// The loop drains when this goroutine is in the middle of reading.
					var some [100]byte
					_, err := io.ReadFull(o, some[:])
					if err != nil {
						return 0, err
					}
					drained := make(chan struct{})
					_ = rondo.LoopOf(ctx).Post(func() { o.drain(); close(drained) })
					n, err := after(string(some[:]), o)
					<-drained
					return n, err
				})
			} else {
				rondo.Go(ctx, func(ctx context.Context) error {
					err := rondo.Yield(ctx)
					o.drain()
					return err
				})
				n, err = read()
			}
			_ = o.Close()
			<-written
			if err != nil {
				err = fmt.Errorf("round %d, after %d: %w", round, n, err)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadUnderLock: while somebody has the lock of an outlet, as drain does, no
// goroutine takes anything out of its pipe, also one that was waiting for it before.
func TestReadUnderLock(t *testing.T) {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer w.Close()
		raw, err := r.SyscallConn() // r.Fd would make the pipe blocking
		if err != nil {
			return err
		}
		probe := -1
		if e := raw.Control(func(sys uintptr) { probe, err = unix.Dup(int(sys)) }); e != nil || err != nil {
			return errors.Join(e, err)
		}
		defer unix.Close(probe)
		o, err := (&child{loop: kernel.Of(ctx)}).outlet(r)
		if err != nil {
			return err
		}
		defer o.Close()
		_, err = rondo.Offload(ctx, func(context.Context) (int, error) {
			read := make(chan int)
			go func() {
				var p [100]byte
				for range 2 {
					n, _ := o.Read(p[:])
					read <- n
				}
			}()
			if _, err := w.WriteString("one"); err != nil {
				return 0, err
			}
			<-read // the second Read waits soon
			for range 1000 {
				runtime.Gosched()
			}
			o.mu.Lock()
			_, err := w.WriteString("three")
			for range 10_000 {
				runtime.Gosched()
				if n, failed := unix.IoctlGetInt(probe, unix.TIOCINQ); n != 5 && err == nil {
					err = fmt.Errorf("the pipe has %d bytes, %v; a read took the others", n, failed)
				}
			}
			o.mu.Unlock()
			if n := <-read; n != 5 && err == nil {
				err = fmt.Errorf("the second read has %d bytes", n)
			}
			return 0, err
		})
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// inOrder reads the numbers from 0 on, one a line, and returns how many there were.
// The last line may be cut.
func inOrder(r io.Reader) (int, error) { return after("", r) }

func after(first string, r io.Reader) (n int, err error) {
	lines := bufio.NewReaderSize(io.MultiReader(strings.NewReader(first), r), 1000)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		if i, err := strconv.Atoi(strings.TrimSpace(line)); err != nil || i != n {
			return n, fmt.Errorf("then came %q", line)
		}
		n++
	}
}
