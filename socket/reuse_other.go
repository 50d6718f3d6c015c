//go:build !(linux || darwin || freebsd || dragonfly)

package socket

import (
	"errors"
	"fmt"
	"net"
)

// std returns the net.ListenConfig with the same options.
func (lc *ListenConfig) std() (*net.ListenConfig, error) {
	if lc.ReusePort || lc.Backlog > 0 {
		return nil, fmt.Errorf("rondo: ListenConfig.ReusePort and Backlog are not available on this system: %w", errors.ErrUnsupported)
	}
	return &net.ListenConfig{Control: lc.Control, KeepAlive: lc.KeepAlive, KeepAliveConfig: lc.KeepAliveConfig}, nil
}

func (lc *ListenConfig) setBacklog(net.Listener) error { return nil }
