package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
)

// flood has connections to a server, one after the other, each of which sends
// much before it reads anything back.
func flood(address string, connections int) error {
	sent := bytes.Repeat([]byte("rondo "), 1<<20)
	for range connections {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		wrote := make(chan error, 1)
		go func() {
			_, err := c.Write(sent)
			wrote <- err
		}()
		back := make([]byte, len(sent))
		_, err = io.ReadFull(c, back)
		if err == nil && !bytes.Equal(sent, back) {
			err = fmt.Errorf("%d bytes came back, and they are not those that were sent", len(back))
		}
		if err := errors.Join(err, c.Close(), <-wrote); err != nil {
			return err
		}
	}
	return nil
}
