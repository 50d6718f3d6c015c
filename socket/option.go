package socket

// Options of a socket, whichever world it is in. What a call of the system does stands in
// option_raw.go, and what package net does in option_portable.go.

import (
	"net"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
)

// setVirtual sets an option of a socket of the driver. It reports whether f is one.
func setVirtual(f *fd.FD, o driver.Option, value int) (done bool, err error) {
	if f.Virtual() == nil {
		return false, nil
	}
	return true, f.OnVirtual(func(v driver.Socket) error {
		v.SetOption(o, value)
		return nil
	})
}

// ignored accepts an option that changes nothing for a socket of the driver. It
// reports whether f is one.
func ignored(f *fd.FD) (done bool, err error) {
	if f.Virtual() == nil {
		return false, nil
	}
	return true, f.OnVirtual(func(driver.Socket) error { return nil })
}

// setBuffer sets the size of a buffer.
func setBuffer(f *fd.FD, which driver.Events, bytes int) error {
	o := driver.ReadBuffer
	if which == driver.Writable {
		o = driver.WriteBuffer
	}
	if done, err := setVirtual(f, o, bytes); done {
		return err
	}
	return setSystemBuffer(f, which, bytes)
}

// keepAlive returns what package net makes of its two fields.
func keepAlive(idle time.Duration, config net.KeepAliveConfig) net.KeepAliveConfig {
	if !config.Enable && idle >= 0 {
		return net.KeepAliveConfig{Enable: true, Idle: idle}
	}
	return config
}
