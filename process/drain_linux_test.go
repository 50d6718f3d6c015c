package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

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
