//go:build !(linux || darwin || freebsd || dragonfly)

package socket

import (
	"errors"
	"fmt"
	"net"
)

// std gives the net.ListenConfig that does the same.
func (lc *ListenConfig) std() (*net.ListenConfig, error) {
	if lc.ReusePort || lc.Backlog > 0 {
		return nil, fmt.Errorf("rondo: ListenConfig.ReusePort and Backlog are not to be had on this system: %w", errors.ErrUnsupported)
	}
	return &net.ListenConfig{Control: lc.Control, KeepAlive: lc.KeepAlive, KeepAliveConfig: lc.KeepAliveConfig}, nil
}

func (lc *ListenConfig) setBacklog(net.Listener) error { return nil }
