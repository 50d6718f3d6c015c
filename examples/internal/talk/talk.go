// Package talk has the client of the tests that talk in lines to a program.
package talk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
)

// Nobody is an address at which nobody listens. The system gives its port to no one.
const Nobody = "127.0.0.1:1"

// A Client is a connection to the program under test. What fails is fatal to the test.
type Client struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

// Start starts the program of the calling test with the address localhost:0 before its
// other arguments, and returns it and the address at which it says that it listens.
func Start(t *testing.T, args ...string) (p *program.Process, address string) {
	t.Helper()
	p = program.Start(t, append([]string{"localhost:0"}, args...)...)
	return p, Address(t, p)
}

// taken counts the ports that Free has looked at.
var taken atomic.Int32

// Free returns addresses at which nobody listens, for programs that must know each other's.
// They stay free while a program is started again: on Linux the process has a loopback
// address of its own, and nowhere does the system give these ports to those who ask for any.
func Free(t *testing.T, n int) (addresses []string) {
	t.Helper()
	host, pid := "127.0.0.1", os.Getpid()
	if runtime.GOOS == "linux" {
		host = fmt.Sprintf("127.%d.%d.%d", 64+pid>>16, pid>>8&255, pid&255)
	}
	for len(addresses) < n {
		port := 10000 + pid%1000*20 + int(taken.Add(1))
		l, err := net.Listen("tcp", fmt.Sprint(host, ":", port))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}

// Address reads the line in which a program says where it listens.
func Address(t *testing.T, p *program.Process) string {
	t.Helper()
	address, ok := strings.CutPrefix(p.Line(), "listening on ")
	if !ok {
		t.Fatal("it did not say where it listens")
	}
	return address
}

// Dial connects to an address.
func Dial(t *testing.T, address string) *Client {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &Client{c, t, bufio.NewReader(c)}
}

// Says sends lines.
func (c *Client) Says(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// Line returns the next line.
func (c *Client) Line() string {
	c.t.Helper()
	line, err := c.in.ReadString('\n')
	if err != nil {
		c.t.Fatalf("heard %q and %v", line, err)
	}
	return line[:len(line)-1]
}

// Hears wants these lines to come next.
func (c *Client) Hears(want ...string) {
	c.t.Helper()
	for _, w := range want {
		if line := c.Line(); line != w {
			c.t.Fatalf("heard %q, not %q", line, w)
		}
	}
}

// Ends wants the connection to end now. That it was reset is an end too.
func (c *Client) Ends() {
	c.t.Helper()
	if line, err := c.in.ReadString('\n'); line != "" || err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
		c.t.Fatalf("heard %q and %v, not the end", line, err)
	}
}

// Leaves ends the sending side.
func (c *Client) Leaves() {
	c.t.Helper()
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		c.t.Fatal(err)
	}
}
