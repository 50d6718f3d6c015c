package main

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
)

// TestMain passes the child the address at which it listens.
func TestMain(m *testing.M) {
	program.Main(m, func() {
		address = os.Args[1]
		main()
	})
}

// TestEcho has a connection served, and the server end with status 0 when it is told
// to.
func TestEcho(t *testing.T) {
	p := program.Start(t, "localhost:0")
	address, ok := strings.CutPrefix(p.Line(), "listening on ")
	if !ok {
		t.Fatalf("it did not say where it listens, but %q", address)
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, sent := range []string{"hello", strings.Repeat("rondo ", 10_000)} {
		if _, err := io.WriteString(c, sent); err != nil {
			t.Fatal(err)
		}
		back := make([]byte, len(sent))
		if _, err := io.ReadFull(c, back); err != nil || string(back) != sent {
			t.Fatalf("sent %.20q, %d bytes, and %.20q came back: %v", sent, len(sent), back, err)
		}
	}
	p.Interrupt()
	c.Close()
	p.End()
}

// TestAddressInUse has the server fail with a sentence.
func TestAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, errors, code := program.Start(t, l.Addr().String()).Wait()
	if code != 1 || !strings.Contains(errors, "listen tcp "+l.Addr().String()) {
		t.Errorf("exit code %d: %s", code, errors)
	}
}
