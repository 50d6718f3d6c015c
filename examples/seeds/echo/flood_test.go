package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
)

// flood has a connection to a server that sends much, and reads it back meanwhile.
func flood(address string) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	sent := bytes.Repeat([]byte("rondo "), 1<<20)
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
	return errors.Join(err, c.Close(), <-wrote)
}
