package network

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
)

// A sink keeps the events that it is told.
type sink struct {
	got  driver.Events
	then func()
}

func (s *sink) Ready(ev driver.Events) {
	s.got |= ev
	if s.then != nil {
		s.then()
	}
}

// TestPorts: a port that nobody asks for is one that nobody has; one that is asked for may be
// shared by those that all say so.
func TestPorts(t *testing.T) {
	c := newCluster(t)
	port := func(at string) uint16 { return c.listen(c.a, at, 0).local.Addr.Port() }
	if a, b, d := port("0.0.0.0:32768"), port("0.0.0.0:0"), port("0.0.0.0:0"); a != 32768 || b != 32769 || d != 32770 {
		t.Error(a, b, d)
	}
	c.a.stack.nextPort = 65535
	if a, b := port("0.0.0.0:0"), port("0.0.0.0:0"); a != 65535 || b != 32771 {
		t.Error("after the last:", a, b)
	}
	bind := func(network string, reuse bool) error {
		s, err := c.b.Socket(network)
		return errors.Join(err, s.Bind(at("0.0.0.0:7"), reuse))
	}
	for i, one := range []struct {
		network string
		reuse   bool
		err     error
	}{
		{"tcp", true, nil}, {"tcp", true, nil}, {"tcp", false, syscall.EADDRINUSE},
		{"udp", false, nil}, {"udp", true, syscall.EADDRINUSE}, {"udp", false, syscall.EADDRINUSE},
	} {
		if err := bind(one.network, one.reuse); !errors.Is(err, one.err) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// TestNoPort: if all ports that a system chooses from are taken, it says so.
func TestNoPort(t *testing.T) {
	c := newCluster(t)
	other := c.packets(c.b, "")
	for n := firstPort; n < 1<<16; n++ {
		for _, network := range []string{"tcp", "udp"} {
			c.a.stack.ports[port{network, uint16(n)}] = other
		}
	}
	for _, network := range []string{"tcp", "udp"} {
		s, err := c.a.Socket(network)
		if err = errors.Join(err, s.Bind(at("0.0.0.0:0"), false)); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s: %v", network, err)
		}
	}
	s, err := c.a.Socket("tcp")
	if errno := s.Connect(at("10.0.0.2:7")); err != nil || errno != syscall.EADDRNOTAVAIL {
		t.Errorf("Connect: %v, %v", errno, err)
	}
}

// TestDeliver: each side of a socket is told what it has armed for, once, and nothing that comes
// while others are told is forgotten.
func TestDeliver(t *testing.T) {
	c := newCluster(t)
	s, peer := c.pair()
	var reads, writes sink
	peer.Arm(driver.Readable, &reads)
	peer.Arm(driver.Writable, &writes)
	tell := func() [2]driver.Events {
		reads.got, writes.got = 0, 0
		for c.b.Deliver() {
		}
		return [2]driver.Events{reads.got, writes.got}
	}
	if got := tell(); got != [2]driver.Events{0, driver.Writable} {
		t.Errorf("at first: %v", got)
	}
	send(t, s, "x")
	c.sleep(2 * time.Millisecond)
	if got := tell(); got != [2]driver.Events{driver.Readable, 0} {
		t.Errorf("when data has come: %v", got)
	}
	if got := tell(); got != [2]driver.Events{} {
		t.Errorf("again: %v", got)
	}
	peer.Disarm(driver.Readable)
	send(t, s, "x")
	c.sleep(2 * time.Millisecond)
	if got := tell(); got != [2]driver.Events{} {
		t.Errorf("disarmed: %v", got)
	}
	one, two := c.packets(c.b, "0.0.0.0:1"), c.packets(c.b, "0.0.0.0:2")
	var second sink
	first := sink{then: func() { two.Arm(driver.Writable, &second) }}
	one.Arm(driver.Writable, &first)
	if tell(); first.got == 0 || second.got == 0 {
		t.Errorf("armed while another one is told: %v, %v", first.got, second.got)
	}
}

// TestShort: a read or a write moves a part, of any length, unless the network is calm.
func TestShort(t *testing.T) {
	for _, part := range []float64{0, 0.5, 1} {
		c := newCluster(t)
		c.Profile.ShortReads = part
		s := c.packets(c.a, "")
		var moved [6]int
		for range 1000 {
			moved[s.short(4)]++
		}
		for n, times := range moved {
			switch {
			case n == 0 || n > 4 || part == 0 && n < 4 || part == 1 && n == 4:
				if times > 0 {
					t.Errorf("a part of %v is short, and %d bytes of 4 are moved %d times", part, n, times)
				}
			case times < 100:
				t.Errorf("a part of %v is short, and %d bytes of 4 are moved %d times", part, n, times)
			}
		}
		if n := s.short(1); n != 1 {
			t.Errorf("of 1 byte %d are moved", n)
		}
		if n := s.short(2); part == 1 && n != 1 {
			t.Errorf("of 2 bytes %d are moved", n)
		}
		c.Settle(Conditions{})
		for range 100 {
			if n := s.short(4); n != 4 {
				t.Fatalf("on a calm network %d bytes of 4 are moved", n)
			}
		}
	}
}

// TestResolve: a host resolves the names of all, and its own also when it has no resolver or a
// wrong one.
func TestResolve(t *testing.T) {
	c := newCluster(t)
	for names, want := range map[Names]string{TrueNames: "10.0.0.2", NoNames: "no answer of the resolver", WrongNames: "10.0.0.1"} {
		c.a.stack.node.Names = names
		for name, want := range map[string]string{"a": "10.0.0.1", "b": want, "localhost": "127.0.0.1", "c": "no such host in the cluster"} {
			got := ""
			if found, err := c.a.stack.Resolve(name); err == nil {
				got = found[0].String()
			} else if e, ok := errors.AsType[*net.DNSError](err); ok {
				got = e.Err
			}
			if got != want {
				t.Errorf("names %d: %s is %q, want %q", names, name, got, want)
			}
		}
	}
	c.b.stack.node.Names = WrongNames
	if found, err := c.b.stack.Resolve("a"); err != nil || found[0].String() != "10.0.0.2" {
		t.Error("the next one of a:", found, err)
	}
}
