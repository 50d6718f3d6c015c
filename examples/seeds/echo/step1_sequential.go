package main

// This step shows a server without any concurrency. It talks with one client
// until that leaves, and the others wait for as long. The next step serves them
// all at the same time.

import (
	"io"
	"net"
)

func sequential(w io.Writer) error { return server(serveInSequence).meet(w, 1) }

func serveInSequence(connections int, listening func(address string)) error {
	l, err := listen(listening)
	if err != nil {
		return err
	}
	defer l.Close()
	for range connections {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		if err := handle(c); err != nil {
			return err
		}
	}
	return nil
}

// handle sends back what comes, until the client leaves. It is the same in every
// step that lets it wait where it wants to: this one, the next two, and the last.
func handle(c net.Conn) error {
	defer c.Close()
	var data [4096]byte
	for {
		n, err := c.Read(data[:])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := c.Write(data[:n]); err != nil {
			return err
		}
	}
}
