//go:build (linux || freebsd || dragonfly) && !rondo_portable

package socket

import "golang.org/x/sys/unix"

// keepIdle is the option for the time before the first probe.
const keepIdle = unix.TCP_KEEPIDLE
