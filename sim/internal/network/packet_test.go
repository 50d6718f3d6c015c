package network

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/sim/internal/choice"
)

// packets returns a socket for datagrams, bound to an address unless that is "".
func (c *cluster) packets(l *Loop, address string) *packetSocket {
	c.t.Helper()
	s, err := l.Socket("udp")
	if err == nil && address != "" {
		err = s.Bind(at(address), false)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return s.(*packetSocket)
}

// sendTo sends a datagram.
func sendTo(t *testing.T, s driver.Socket, text, to string) {
	t.Helper()
	peer := driver.Peer{}
	if to != "" {
		peer = at(to)
	}
	if n, errno := s.Send([]byte(text), peer); n != len(text) || errno != 0 {
		t.Fatalf("Send: %d, %v", n, errno)
	}
}

// next returns the next datagram that has arrived, and from where.
func next(s *packetSocket) (text, from string, errno syscall.Errno) {
	p := make([]byte, 100)
	n, peer, errno := s.Receive(p)
	return string(p[:n]), peer.Addr.String(), errno
}

// TestPacketAddresses: which socket gets a datagram, and from whom it is.
func TestPacketAddresses(t *testing.T) {
	for _, one := range []struct {
		bound, to  string
		own, other string // whom it is from if a program on the host sends it, and one on another host
	}{
		{"0.0.0.0:7", "10.0.0.2:7", "10.0.0.2:9", "10.0.0.1:9"},
		{"[::]:7", "[::ffff:10.0.0.2]:7", "10.0.0.2:9", "10.0.0.1:9"},
		{"0.0.0.0:7", "127.0.0.1:7", "127.0.0.1:9", ""},
		{"0.0.0.0:7", "0.0.0.0:7", "127.0.0.1:9", ""},
		{"10.0.0.2:7", "10.0.0.2:7", "10.0.0.2:9", "10.0.0.1:9"},
		{"10.0.0.2:7", "127.0.0.1:7", "", ""},
		{"127.0.0.1:7", "[::1]:7", "127.0.0.1:9", ""},
		{"127.0.0.1:7", "10.0.0.2:7", "", ""},
		{"0.0.0.0:8", "10.0.0.2:7", "", ""},
	} {
		c := newCluster(t)
		s := c.packets(c.b, one.bound)
		for from, want := range map[*Loop]string{c.b: one.own, c.a: one.other} {
			sendTo(t, c.packets(from, "0.0.0.0:9"), "text", one.to)
			c.sleep(2 * time.Millisecond)
			text, source, errno := next(s)
			if want == "" && errno != syscall.EAGAIN || want != "" && (text != "text" || source != want) {
				t.Errorf("bound to %s, to %s: %q from %s, %v; want it from %q", one.bound, one.to, text, source, errno, want)
			}
		}
	}
}

// TestPacketPeer: a connected socket has the address of its way, gets what its peer sends alone,
// and is told once that nobody is there. One that is not connected is told nothing.
func TestPacketPeer(t *testing.T) {
	for to, own := range map[string]string{"10.0.0.2:7": "10.0.0.1", "127.0.0.1:7": "127.0.0.1"} {
		c := newCluster(t)
		s, loose := c.packets(c.a, ""), c.packets(c.a, "")
		if errno := s.Connect(at(to)); errno != 0 || s.local.Addr.Addr().String() != own {
			t.Errorf("connected to %s from %v: %v", to, s.local, errno)
		}
		_, _ = loose.Send([]byte("x"), at(to))
		sendTo(t, s, "x", "")
		c.sleep(3 * time.Millisecond)
		for _, want := range []syscall.Errno{syscall.ECONNREFUSED, syscall.EAGAIN} {
			if _, _, errno := next(s); errno != want {
				t.Errorf("Receive: %v, want %v", errno, want)
			}
		}
		if _, _, errno := next(loose); errno != syscall.EAGAIN || loose.Ready(driver.Readable) {
			t.Error("not connected:", errno)
		}
		sendTo(t, s, "x", "")
		c.sleep(3 * time.Millisecond)
		if _, errno := s.Send([]byte("x"), driver.Peer{}); errno != syscall.ECONNREFUSED {
			t.Error("Send:", errno)
		}
		l := c.b
		if own == "127.0.0.1" {
			l = c.a
		}
		peer, stranger := c.packets(l, "0.0.0.0:7"), c.packets(l, "0.0.0.0:8")
		sendTo(t, s, "hello", "")
		c.sleep(3 * time.Millisecond)
		_, from, _ := next(peer)
		sendTo(t, stranger, "stranger", from)
		sendTo(t, peer, "peer", from)
		c.sleep(3 * time.Millisecond)
		if text, source, errno := next(s); text != "peer" || source != to || errno != 0 {
			t.Errorf("%q from %s, %v", text, source, errno)
		}
		s.Close()
		sendTo(t, peer, "x", from)
		c.sleep(3 * time.Millisecond)
		if _, _, errno := next(s); errno != syscall.ECONNABORTED || len(s.queue) > 0 {
			t.Error("closed:", errno)
		}
	}
}

// TestPacketRoom: what finds no room in the queue of a socket is lost, and there is room again when
// something has been read. No datagram is larger than UDP has them.
func TestPacketRoom(t *testing.T) {
	c := newCluster(t)
	s, from := c.packets(c.b, "0.0.0.0:7"), c.packets(c.a, "")
	if _, errno := from.Send(make([]byte, packetMost+1), at("10.0.0.2:7")); errno != syscall.EMSGSIZE {
		t.Error(errno)
	}
	sizes := []int{packetMost, packetMost, packetMost, queueMost - 3*packetMost, 1, 0}
	for range 2 {
		for _, n := range sizes {
			sendTo(t, from, strings.Repeat("x", n), "10.0.0.2:7")
			c.sleep(2 * time.Millisecond)
		}
		var got []int
		for s.Ready(driver.Readable) {
			n, _, _ := s.Receive(make([]byte, packetMost))
			got = append(got, n)
		}
		if want := slices.Concat(sizes[:4], sizes[5:]); !slices.Equal(got, want) {
			t.Errorf("%v have arrived, want %v", got, want)
		}
	}
}

// TestUnixPacketPeer: whom a Unix socket can send to, by a name or as its peer, which remains the
// same socket when another one has the name.
func TestUnixPacketPeer(t *testing.T) {
	c := newCluster(t)
	unix(t, c.a, "unix", "/stream")
	peer, s := unix(t, c.a, "unixgram", "/d"), unix(t, c.a, "unixgram", "/s")
	if errno := s.Connect(driver.Peer{Name: "/d"}); errno != 0 {
		t.Fatal(errno)
	}
	send := func(to string, want syscall.Errno) {
		t.Helper()
		if _, errno := s.Send([]byte("x"), driver.Peer{Name: to}); errno != want {
			t.Errorf("to %q: %v, want %v", to, errno, want)
		}
		c.sleep(time.Millisecond)
	}
	send("/none", syscall.ENOENT)
	send("/stream", syscall.EPROTOTYPE)
	send("/d", 0)
	if text, _, errno := next(peer.(*packetSocket)); text != "x" || errno != 0 {
		t.Errorf("%q, %v", text, errno)
	}
	send("", 0)
	peer.Close()
	send("/d", syscall.ENOENT)
	other := unix(t, c.a, "unixgram", "/d").(*packetSocket)
	send("", syscall.ECONNREFUSED)
	if _, _, errno := next(other); errno != syscall.EAGAIN {
		t.Error("it was sent to another socket:", errno)
	}
	send("/d", 0)
	if _, _, errno := next(other); errno != 0 {
		t.Error(errno)
	}
	send("/d", 0)
	other.Close() // what it has not read is lost, and its sender is told nothing
	if _, _, errno := next(s.(*packetSocket)); errno != syscall.EAGAIN {
		t.Error("Receive:", errno)
	}
}

// TestUnixPacketRoom: a Unix socket loses nothing. Who sends to one that is full can do so when
// something has been read, and finds out if it was closed. Meanwhile it can send to others.
func TestUnixPacketRoom(t *testing.T) {
	c := newCluster(t)
	full, s := unix(t, c.a, "unixgram", "/full"), unix(t, c.a, "unixgram", "/s")
	to := driver.Peer{Name: "/full"}
	send := func(n int, want syscall.Errno) {
		t.Helper()
		if _, errno := s.Send(make([]byte, n), to); errno != want || s.Ready(driver.Writable) == (want == syscall.EAGAIN) {
			t.Errorf("%d bytes: %v, want %v; it can send: %v", n, errno, want, s.Ready(driver.Writable))
		}
	}
	var report sink
	s.Arm(driver.Writable, &report)
	told := func() bool {
		report.got = 0
		c.a.Deliver()
		return report.got&driver.Writable != 0
	}
	if !told() {
		t.Error("it was not told that it can send")
	}
	send(queueMost+1, syscall.EMSGSIZE)
	send(queueMost-1, 0)
	send(1, 0)
	send(1, syscall.EAGAIN) // what is on its way has its room
	c.sleep(time.Millisecond)
	send(1, syscall.EAGAIN)
	unix(t, c.a, "unixgram", "/other")
	if _, errno := s.Send(nil, driver.Peer{Name: "/other"}); errno != 0 {
		t.Error("to another one:", errno)
	}
	send(1, syscall.EAGAIN)
	if told() {
		t.Error("it was told that there is room")
	}
	for _, want := range []int{queueMost - 1, 1} {
		if n, _, errno := full.Receive(make([]byte, queueMost)); n != want || errno != 0 {
			t.Errorf("%d bytes, %v; want %d", n, errno, want)
		}
	}
	if !told() {
		t.Error("it was not told that there is room")
	}
	send(queueMost, 0)
	send(1, syscall.EAGAIN)
	if full.Close(); !told() {
		t.Error("it was not told of the end")
	}
	send(1, syscall.ENOENT)
}

// TestPacketsHeld: a way that is held keeps datagrams, also those that are on it, until it is
// released. One that is cut loses them.
func TestPacketsHeld(t *testing.T) {
	c := newCluster(t)
	s, from := c.packets(c.b, "0.0.0.0:7"), c.packets(c.a, "")
	sendTo(t, from, "on the way", "10.0.0.2:7")
	c.there().Hold()
	c.sleep(2 * time.Millisecond)
	sendTo(t, from, "later", "10.0.0.2:7")
	if c.sleep(time.Hour); s.Ready(driver.Readable) {
		t.Error("something has arrived")
	}
	c.there().Release()
	c.sleep(2 * time.Millisecond)
	for range 2 {
		if _, _, errno := next(s); errno != 0 {
			t.Error(errno)
		}
	}
	c.there().Hold()
	c.there().Release() // there is nothing on the way now
	sendTo(t, from, "lost", "10.0.0.2:7")
	c.there().Cut = true
	c.sleep(time.Hour)
	if _, _, errno := next(s); errno != syscall.EAGAIN {
		t.Error("behind a cut:", errno)
	}
	want := []string{
		"0s sent a to b: packet 10", "0s struck a to b: hold 0", "2ms sent a to b: packet 5",
		"1h0m0.002s struck a to b: release 0", "1h0m0.002s arrived a to b: packet 10", "1h0m0.002s arrived a to b: packet 5",
		"1h0m0.004s struck a to b: hold 0", "1h0m0.004s struck a to b: release 0",
		"1h0m0.004s sent a to b: packet 4", "1h0m0.005s struck a to b: lost 4",
	}
	if !slices.Equal(c.events, want) {
		t.Errorf("%q\nwant\n%q", c.events, want)
	}
}

// TestPacketFaults: on a network that doubles each datagram, makes each late or loses it, that
// happens between hosts, and not within one or when the network is calm. It has words.
func TestPacketFaults(t *testing.T) {
	const twice, late, lost = "a message from a to b came twice", "a message from a to b was late, so that others may overtake it", "a message from a to b was lost"
	for _, one := range []struct {
		of     Conditions
		words  []string
		copies int
		after  time.Duration
	}{
		{Conditions{}, nil, 1, time.Millisecond},
		{Conditions{Duplicate: 1}, []string{twice}, 2, time.Millisecond},
		{Conditions{Reorder: 1}, []string{late}, 1, 3 * time.Millisecond},
		{Conditions{Duplicate: 1, Reorder: 1}, []string{twice, late, late}, 2, 3 * time.Millisecond},
		{Conditions{PacketLoss: 1}, []string{lost}, 0, 0},
	} {
		c := newCluster(t)
		of := one.of
		of.Latency, of.Jitter = c.Profile.Latency, c.Profile.Jitter
		c.Profile.Conditions = of
		var said []string
		c.choices.Says = func(words choice.Words) {
			said = append(said, words(func(number uint64) string { return string(rune('a' + number - 1)) }))
		}
		s, from := c.packets(c.b, "0.0.0.0:7"), c.packets(c.a, "")
		sendTo(t, from, "x", "10.0.0.2:7")
		if took := c.until(func() bool { return len(s.queue) > 0 }); took != one.after {
			t.Errorf("%+v: it arrives after %v, want %v", one.of, took, one.after)
		}
		if c.sleep(time.Second); len(s.queue) != one.copies || !slices.Equal(said, one.words) {
			t.Errorf("%+v: %d times, %q; want %d, %q", one.of, len(s.queue), said, one.copies, one.words)
		}
		sendTo(t, c.packets(c.b, ""), "x", "10.0.0.2:7")
		c.Settle(of)
		sendTo(t, from, "x", "10.0.0.2:7")
		if c.sleep(time.Second); len(s.queue) != one.copies+2 || len(said) != len(one.words) {
			t.Errorf("%+v: from its own host and on a calm network %d have come, %q", one.of, len(s.queue)-one.copies, said)
		}
	}
}
