//go:build !linux

package socket_test

import (
	"testing"

	"github.com/rondo-go/rondo/socket"
)

func checkOptions(testing.TB, string, *socket.Conn, int, int) {}
