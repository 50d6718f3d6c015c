//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package fd

import (
	"context"
	"errors"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// Ready fails: the driver watches no descriptors.
func Ready(_ context.Context, loop kernel.Loop, _ driver.Events, _ uintptr) error {
	return unwatched(loop)
}

// Watch fails for the same reason.
func Watch(_ context.Context, loop kernel.Loop, _ driver.Events, _ uintptr, _ func()) (stop func(), err error) {
	return nil, unwatched(loop)
}

func unwatched(loop kernel.Loop) error {
	if err := Supported(loop); err != nil {
		return err
	}
	return errUnwatched{}
}

type errUnwatched struct{}

func (errUnwatched) Error() string {
	return "this system's driver does not watch file descriptors; read or write on a goroutine, by rondo.Offload"
}

func (errUnwatched) Is(err error) bool { return err == errors.ErrUnsupported }
