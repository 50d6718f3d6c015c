package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
)

func init() { modes["stalled"] = stalled }

// stalled has a task whose name lies on a page that does not arrive before SIGUSR1.
func stalled(ctx context.Context) error {
	const api, register, missing = 0xc018aa3f, 0xc020aa00, 1
	length := os.Getpagesize()
	fd, _, e := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC, 0, 0)
	if e != 0 {
		return e
	}
	hello := [3]uint64{0xaa}
	if _, _, e = unix.Syscall(unix.SYS_IOCTL, fd, api, uintptr(unsafe.Pointer(&hello))); e != 0 {
		return e
	}
	// Several pages, which are one mapping: that is given up as a whole.
	page, err := unix.Mmap(-1, 0, 4*length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	of := [4]uint64{uint64(uintptr(unsafe.Pointer(&page[0]))), uint64(4 * length), missing}
	if _, _, e = unix.Syscall(unix.SYS_IOCTL, fd, register, uintptr(unsafe.Pointer(&of))); e != 0 {
		return e
	}
	for i := range 4 {
		rondo.Go(ctx, sleepLong).SetName(unsafe.String(&page[i*length], 20))
	}
	rondo.Go(ctx, sleepLong).SetName("named")
	arrives := make(chan os.Signal, 1)
	signal.Notify(arrives, syscall.SIGUSR1)
	go func() {
		<-arrives
		_ = unix.Close(int(fd)) // from now on the pages are as if they had never been of it
	}()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			fmt.Println("ready")
			return sleepLong(ctx)
		})
		return nil
	})
}

func sleepLong(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }
