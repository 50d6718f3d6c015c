// Package helper is what the others call.
package helper

import (
	"context"
	"net"
	"time"

	"github.com/rondo-go/rondo"
)

// Pause waits.
func Pause(ctx context.Context) error { return rondo.Sleep(ctx, 1) }

// Block blocks.
func Block() { poll() }

func poll() { time.Sleep(1) }

// Client blocks in a method.
type Client struct{}

// Fetch blocks.
func (*Client) Fetch() (net.Conn, error) { return net.Dial("tcp", "localhost:1") }

// Quick does not block: what blocks runs on a goroutine.
func Quick() { go poll() }
