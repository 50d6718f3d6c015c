package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// A cluster is a network of hosts a and b on which a message takes 1 ms, with a clock.
type cluster struct {
	*Net
	t       *testing.T
	now     int64
	moments moment.Heap
	a, b    *Loop
	events  []string
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{t: t, now: moment.Origin, moments: moment.New()}
	of := Conditions{Latency: time.Millisecond, Jitter: 1}
	c.Net = New(choice.New(1), &c.moments, func() int64 { return c.now }, nil, of, c.note)
	c.a, c.b = c.Add(1, "a").Boot().Loop(func() {}), c.Add(2, "b").Boot().Loop(func() {})
	return c
}

// note keeps an event of the network, with its time.
func (c *cluster) note(k record.Kind, from, to *Node, what string, n int) {
	kind := map[record.Kind]string{record.Sent: "sent", record.Arrived: "arrived", record.Struck: "struck"}[k]
	from1, to1 := 'a'+rune(from.Number)-1, 'a'+rune(to.Number)-1
	c.events = append(c.events, fmt.Sprintf("%v %s %c to %c: %s %d", c.time(), kind, from1, to1, what, n))
}

// time returns the time since the begin, without the jitter.
func (c *cluster) time() time.Duration {
	return time.Duration(c.now - moment.Origin).Round(10 * time.Microsecond)
}

// until lets time pass until something is so, and returns the time. It returns 0 if that is never.
func (c *cluster) until(is func() bool) time.Duration {
	for !is() {
		m, at := c.moments.First()
		if m == nil {
			return 0
		}
		c.now = at
		c.moments.Drop(m)
		m.What.Happen()
	}
	return c.time()
}

// sleep lets d pass.
func (c *cluster) sleep(d time.Duration) {
	end := c.now + int64(d)
	for m, at := c.moments.First(); m != nil && at <= end; m, at = c.moments.First() {
		c.now = at
		c.moments.Drop(m)
		m.What.Happen()
	}
	c.now = end
}

// there and back return the ways between a and b.
func (c *cluster) there() *Way { return c.Between(c.a.stack.node, c.b.stack.node) }
func (c *cluster) back() *Way  { return c.there().Back() }

// cut cuts both.
func (c *cluster) cut() { c.there().Cut, c.back().Cut = true, true }

func at(address string) driver.Peer { return driver.Peer{Addr: netip.MustParseAddrPort(address)} }

// listen returns a listener of a loop.
func (c *cluster) listen(l *Loop, address string, backlog int) *streamSocket {
	c.t.Helper()
	s, err := l.Socket("tcp")
	if err == nil {
		err = s.Bind(at(address), false)
	}
	if err == nil {
		err = s.Listen(backlog)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return s.(*streamSocket)
}

// ask returns a socket that asks for a connection.
func (c *cluster) ask(l *Loop, address string) *streamSocket {
	c.t.Helper()
	s, err := l.Socket("tcp")
	if err != nil {
		c.t.Fatal(err)
	}
	if errno := s.Connect(at(address)); errno != syscall.EAGAIN {
		c.t.Fatal(errno)
	}
	return s.(*streamSocket)
}

// dial returns a connection of a with the port 7 of b, and the error of the dial.
func (c *cluster) dial() (*streamSocket, syscall.Errno) {
	s := c.ask(c.a, "10.0.0.2:7")
	c.until(func() bool { return s.Ready(driver.Writable) })
	return s, s.Connect(driver.Peer{})
}

// pair returns both ends of a connection between a and b.
func (c *cluster) pair() (s, peer *streamSocket) {
	c.t.Helper()
	l := c.listen(c.b, "0.0.0.0:7", 0)
	s, errno := c.dial()
	if errno != 0 {
		c.t.Fatal(errno)
	}
	c.until(func() bool { return l.Ready(driver.Readable) })
	one, _, errno := l.Accept()
	if errno != 0 {
		c.t.Fatal(errno)
	}
	return s, one.(*streamSocket)
}

// send sends a text.
func send(t *testing.T, s *streamSocket, text string) {
	t.Helper()
	if n, errno := s.Send([]byte(text), driver.Peer{}); n != len(text) || errno != 0 {
		t.Fatalf("Send: %d, %v", n, errno)
	}
}

// receive returns what has arrived, and what comes then.
func receive(s *streamSocket) (string, error) {
	var text strings.Builder
	for p := make([]byte, 100); ; {
		n, _, errno := s.Receive(p)
		if errno != 0 {
			return text.String(), errno
		}
		if n == 0 {
			return text.String(), nil
		}
		text.Write(p[:n])
	}
}

// TestEvents: a connection from the request to its end, as a record of the run has it.
func TestEvents(t *testing.T) {
	c := newCluster(t)
	s, peer := c.pair()
	send(t, s, "hello")
	c.sleep(time.Millisecond * 2)
	_, _ = receive(peer)
	peer.Close()
	c.sleep(time.Millisecond * 2)
	send(t, s, "bye")
	c.sleep(time.Millisecond * 2)
	want := []string{
		"0s sent a to b: connect 0", "2ms sent a to b: opened 0", "3ms arrived a to b: opened 0",
		"3ms sent a to b: data 5", "4ms arrived a to b: data 5",
		"5ms sent b to a: end 0", "6ms arrived b to a: end 0",
		"7ms sent a to b: data 3", "8ms arrived a to b: reset 0",
	}
	if !slices.Equal(c.events, want) {
		t.Errorf("%q\nwant\n%q", c.events, want)
	}
}

// hopeless has connections that are given up, and after how long.
var hopeless = []struct {
	name  string
	do    func(c *cluster) *streamSocket
	after time.Duration
	err   syscall.Errno
}{
	{"nobody answers", func(c *cluster) *streamSocket {
		c.cut()
		return c.ask(c.a, "10.0.0.2:7")
	}, 127*time.Second + time.Millisecond, syscall.ETIMEDOUT},
	{"nobody acknowledges", func(c *cluster) *streamSocket {
		s, _ := c.pair()
		c.cut()
		send(c.t, s, "lost")
		return s
	}, 924600*time.Millisecond + 4*time.Millisecond, syscall.ETIMEDOUT},
	{"a peer that vanished", func(c *cluster) *streamSocket {
		s, _ := c.pair()
		c.b.stack.node.Up = false
		c.b.stack.DropAll()
		return s
	}, 150*time.Second + 3*time.Millisecond, syscall.ETIMEDOUT},
	{"after a dial that had to ask again", func(c *cluster) *streamSocket {
		c.cut()
		c.listen(c.b, "0.0.0.0:7", 0)
		s := c.ask(c.a, "10.0.0.2:7")
		c.sleep(500 * time.Millisecond)
		c.Heal()
		c.until(func() bool { return s.Ready(driver.Writable) })
		c.sleep(100 * time.Millisecond) // it is accepted by nobody
		c.b.stack.node.Up = false
		c.b.stack.DropAll()
		return s
	}, 151*time.Second + 102*time.Millisecond, syscall.ETIMEDOUT},
	{"a peer that is there again", func(c *cluster) *streamSocket {
		s, _ := c.pair()
		c.b.stack.node.Up = false
		c.b.stack.DropAll()
		c.sleep(40 * time.Second)
		c.b.stack.node.Up = true
		return s
	}, 45*time.Second + 3*time.Millisecond, syscall.ECONNRESET},
	{"a reset that is lost", func(c *cluster) *streamSocket {
		s, peer := c.pair()
		peer.Close()
		c.sleep(2 * time.Millisecond)
		send(c.t, s, "x")
		c.sleep(1500 * time.Microsecond)
		c.cut()
		return s
	}, 924600*time.Millisecond + 7*time.Millisecond, syscall.ETIMEDOUT},
	{"a reset that is late", func(c *cluster) *streamSocket {
		s, peer := c.pair()
		peer.Close()
		c.sleep(2 * time.Millisecond)
		send(c.t, s, "x")
		c.sleep(1500 * time.Microsecond)
		c.cut()
		c.sleep(500 * time.Millisecond)
		c.Heal()
		return s
	}, 600*time.Millisecond + 7*time.Millisecond, syscall.EPIPE},
}

// TestGiveUp: how long a connection is tried, as on Linux, and what it then fails with.
func TestGiveUp(t *testing.T) {
	for _, one := range hopeless {
		t.Run(one.name, func(t *testing.T) {
			c := newCluster(t)
			s := one.do(c)
			if took := c.until(func() bool { return s.err != 0 }); took != one.after || s.err != one.err {
				t.Errorf("after %v: %v; want %v after %v", took, s.err, one.err, one.after)
			}
			_ = s.takeErr()
			c.sleep(time.Hour)
			if _, errno := s.Send([]byte("x"), driver.Peer{}); errno != syscall.EPIPE {
				t.Errorf("an hour later: %v", errno)
			}
		})
	}
}

// TestSendAgain: data that is lost is sent again after 200 ms, then after twice as long each time,
// and after an outage it begins anew. What was sent behind it waits.
func TestSendAgain(t *testing.T) {
	c := newCluster(t)
	s, peer := c.pair()
	for range 2 {
		begin := c.time()
		c.cut()
		send(t, s, "first,")
		c.sleep(100 * time.Millisecond)
		send(t, s, "second")
		c.sleep(time.Second)
		c.Heal()
		// It is lost after 1 ms, 201 ms, 601 ms, and passes after 1401 ms.
		if took := c.until(func() bool { return peer.in.arrived > 0 }) - begin; took != 1402*time.Millisecond {
			t.Errorf("it has arrived after %v", took)
		}
		if text, err := receive(peer); text != "first,second" || err != syscall.EAGAIN {
			t.Errorf("%q, %v", text, err)
		}
	}
}

// TestUnacknowledged: no more than ten segments arrive while no answer comes back.
func TestUnacknowledged(t *testing.T) {
	c := newCluster(t)
	s, peer := c.pair()
	for range 15 {
		send(t, s, "x")
		c.sleep(2 * time.Millisecond)
	}
	if text, _ := receive(peer); len(text) != 15 {
		t.Errorf("%d have arrived", len(text))
	}
	c.back().Cut = true
	for range 15 {
		send(t, s, "x")
		c.sleep(2 * time.Millisecond)
	}
	if text, _ := receive(peer); len(text) != 10 {
		t.Errorf("%d have arrived during the cut", len(text))
	}
	c.Heal()
	c.sleep(time.Second)
	if text, _ := receive(peer); len(text) != 5 {
		t.Errorf("%d have arrived after it", len(text))
	}
}

// TestGive: a socket takes more than it has room for, and sends all of it before anything else and
// before its end.
func TestGive(t *testing.T) {
	failed := func(c *cluster, _, _ *streamSocket) {
		c.a.stack.node.Outages++
		c.a.stack.DropAll()
	}
	for name, one := range map[string]struct {
		end  func(c *cluster, s, peer *streamSocket)
		text string
		err  error
	}{
		"open":       {func(*cluster, *streamSocket, *streamSocket) {}, "abcdefghij", syscall.EAGAIN},
		"CloseWrite": {func(_ *cluster, s, _ *streamSocket) { _ = s.Shutdown(driver.Writable) }, "abcdefghij", nil},
		"Close":      {func(_ *cluster, s, _ *streamSocket) { s.Close() }, "abcdefghij", nil},
		"linger 0": {func(_ *cluster, s, _ *streamSocket) {
			s.SetOption(driver.Linger, 0)
			s.Close()
		}, "abc", syscall.ECONNRESET},
		"no power": {failed, "abc", syscall.EAGAIN},
		"no power after Close": {func(c *cluster, s, peer *streamSocket) {
			s.Close()
			failed(c, s, peer)
		}, "abc", syscall.EAGAIN},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			s, peer := c.pair()
			s.out.size = 3
			for _, text := range []string{"abcde", "fghij"} {
				if errno := s.Give([]byte(text), driver.Peer{}); errno != 0 {
					t.Error(errno)
				}
			}
			if n := s.Kept(); n != 7 || s.Ready(driver.Writable) {
				t.Error("it keeps", n)
			}
			if n, errno := s.Send([]byte("x"), driver.Peer{}); n != 0 || errno != syscall.EAGAIN {
				t.Errorf("Send: %d, %v", n, errno)
			}
			c.sleep(10 * time.Millisecond)
			one.end(c, s, peer)
			all, err := receive(peer)
			for range 5 {
				if err == syscall.EAGAIN {
					var text string
					c.sleep(10 * time.Millisecond)
					text, err = receive(peer)
					all += text
				}
			}
			if all != one.text || err != one.err || s.Kept() != 0 {
				t.Errorf("%q arrived, then %v; it keeps %d", all, err, s.Kept())
			}
			if !s.Ready(driver.Writable) {
				t.Error("it has no room")
			}
		})
	}
}

// TestInFlight: what has left a machine arrives, whatever becomes of its sender, and what has not
// is never sent.
func TestInFlight(t *testing.T) {
	for _, one := range []struct {
		name string
		end  func(c *cluster, s, peer *streamSocket)
		text string
		err  error
	}{
		{"linger 0", func(c *cluster, s, peer *streamSocket) {
			s.SetOption(driver.Linger, 0)
			s.Close()
		}, "left", syscall.ECONNRESET},
		{"something was not read", func(c *cluster, s, peer *streamSocket) {
			send(c.t, peer, "never read")
			c.sleep(time.Millisecond + 1)
			s.Close()
		}, "left", syscall.ECONNRESET},
		{"in order", func(c *cluster, s, peer *streamSocket) {
			s.SetOption(driver.Linger, 5)
			s.Close()
		}, "left,lost", nil},
		{"no power", func(c *cluster, s, peer *streamSocket) {
			c.a.stack.node.Outages++
			c.a.stack.DropAll()
		}, "left", syscall.ECONNRESET},
		{"the connection breaks", func(c *cluster, s, peer *streamSocket) { c.there().Reset() }, "", syscall.ECONNRESET},
		{"both ends break", func(c *cluster, s, peer *streamSocket) { c.back().Reset() }, "", syscall.ECONNRESET},
	} {
		t.Run(one.name, func(t *testing.T) {
			c := newCluster(t)
			s, peer := c.pair()
			send(t, s, "left")
			c.there().Loss = 1
			send(t, s, ",lost")
			one.end(c, s, peer)
			c.there().Loss = -1
			c.sleep(time.Minute)
			if text, err := receive(peer); text != one.text || one.err == nil && err != nil || one.err != nil && err != one.err {
				t.Errorf("%q, %v; want %q, %v", text, err, one.text, one.err)
			}
		})
	}
}

// TestNotSentFromTheDead: what is in flight when a machine loses its power, and is then lost, is
// not sent again.
func TestNotSentFromTheDead(t *testing.T) {
	c := newCluster(t)
	s, peer := c.pair()
	send(t, s, "lost")
	c.there().Cut = true
	c.a.stack.node.Outages++
	c.a.stack.DropAll()
	c.sleep(time.Second)
	c.Heal()
	c.sleep(time.Second)
	if text, err := receive(peer); text != "" || err != syscall.EAGAIN {
		t.Errorf("%q, %v", text, err)
	}
}

// TestBrokenTwice: a reset that comes when the connection is broken already is no second error.
func TestBrokenTwice(t *testing.T) {
	c := newCluster(t)
	s, peer := c.pair()
	peer.SetOption(driver.Linger, 0)
	peer.Close()
	s.sever(c.a.stack.node, c.b.stack.node)
	if _, errno := s.Send([]byte("x"), driver.Peer{}); errno != syscall.ECONNRESET {
		t.Error("Send:", errno)
	}
	c.sleep(time.Second)
	if _, errno := s.Send([]byte("x"), driver.Peer{}); errno != syscall.EPIPE {
		t.Error("Send again:", errno)
	}
}

// TestBrokenInQueue: Reset breaks both ends of a connection also if it was not accepted.
func TestBrokenInQueue(t *testing.T) {
	for _, of := range []func(c *cluster) *Way{(*cluster).there, (*cluster).back} {
		c := newCluster(t)
		l := c.listen(c.b, "0.0.0.0:7", 0)
		s, _ := c.dial()
		c.sleep(time.Second)
		of(c).Reset()
		accepted, _, errno := l.Accept()
		if errno != 0 {
			t.Fatal(errno)
		}
		for i, end := range []driver.Socket{s, accepted} {
			if _, _, errno := end.Receive(make([]byte, 1)); errno != syscall.ECONNRESET {
				t.Errorf("end %d reads: %v", i, errno)
			}
		}
	}
}

// TestHeld: what is sent on a way that is held arrives when it is released.
func TestHeld(t *testing.T) {
	c := newCluster(t)
	s, peer := c.pair()
	c.there().Hold()
	send(t, s, "text")
	if c.sleep(time.Hour); peer.in.arrived > 0 {
		t.Error("it has arrived")
	}
	c.there().Release()
	c.sleep(time.Millisecond + 1)
	if text, _ := receive(peer); text != "text" {
		t.Errorf("%q", text)
	}
}

// TestHeldDial: a dial on a way that is held, in either direction, goes on when that is released,
// and not before. If it is not released, the dial is given up like one that is not answered.
func TestHeldDial(t *testing.T) {
	for i, of := range []func(c *cluster) *Way{(*cluster).there, (*cluster).back} {
		for _, held := range []time.Duration{5 * time.Second, 126 * time.Second} {
			c := newCluster(t)
			l := c.listen(c.b, "0.0.0.0:7", 0)
			of(c).Hold()
			s := c.ask(c.a, "10.0.0.2:7")
			if c.sleep(held); s.Ready(driver.Writable) {
				t.Errorf("way %d: it is connected", i)
			}
			of(c).Release()
			c.sleep(4 * time.Millisecond)
			if errno := s.Connect(driver.Peer{}); errno != 0 {
				t.Errorf("way %d, released after %v: %v", i, held, errno)
			}
			send(t, s, "text")
			c.sleep(time.Hour)
			accepted, _, errno := l.Accept()
			if errno != 0 {
				t.Fatal(errno)
			}
			if text, errno := receive(accepted.(*streamSocket)); text != "text" || errno != syscall.EAGAIN {
				t.Errorf("way %d: %q, %v", i, text, errno)
			}
		}
		c := newCluster(t)
		c.listen(c.b, "0.0.0.0:7", 0)
		of(c).Hold()
		s := c.ask(c.a, "10.0.0.2:7")
		if took := c.until(func() bool { return s.Ready(driver.Writable) }).Round(time.Second); took != 127*time.Second || s.err != syscall.ETIMEDOUT {
			t.Errorf("way %d: it is given up after %v: %v", i, took, s.err)
		}
	}
}

// TestRoom: a sender that waits for room gets it when the news of the first read comes back, late
// if that is lost.
func TestRoom(t *testing.T) {
	for lost, want := range map[bool]time.Duration{false: time.Millisecond, true: 401 * time.Millisecond} {
		c := newCluster(t)
		s, peer := c.pair()
		peer.SetOption(driver.ReadBuffer, 1)
		for s.Ready(driver.Writable) {
			if _, errno := s.Send(make([]byte, 500), driver.Peer{}); errno != 0 {
				t.Fatal(errno)
			}
		}
		if n := s.out.pending(); n != 1<<10 {
			t.Errorf("there was room for %d bytes", n)
		}
		if _, errno := s.Send([]byte("x"), driver.Peer{}); errno != syscall.EAGAIN {
			t.Error(errno)
		}
		s.pending = 0
		c.sleep(2 * time.Millisecond)
		c.back().Cut = lost
		begin := c.now
		for range 2 {
			if n, _, errno := peer.Receive(make([]byte, 10)); n != 10 || errno != 0 {
				t.Fatal(n, errno)
			}
			c.sleep(500 * time.Microsecond)
		}
		if lost {
			c.sleep(300 * time.Millisecond)
			c.back().Cut = false
		}
		c.until(func() bool { return s.pending&driver.Writable != 0 })
		if took := time.Duration(c.now - begin).Round(10 * time.Microsecond); took != want {
			t.Errorf("lost: %v: there is room after %v, want %v", lost, took, want)
		}
	}
}

// attempts are connections that a asks for, by how each ends.
var attempts = map[string]func(c *cluster){
	"none": func(c *cluster) {},
	"closed when the answer is under way": func(c *cluster) {
		s := c.ask(c.a, "10.0.0.2:7")
		c.sleep(1500 * time.Microsecond)
		s.Close()
	},
	"no power when the answer is under way": func(c *cluster) {
		c.ask(c.a, "10.0.0.2:7")
		c.sleep(1500 * time.Microsecond)
		c.a.stack.node.Outages++
		c.a.stack.DropAll()
		c.a = c.a.stack.node.Boot().Loop(func() {})
	},
	"the answer is lost": func(c *cluster) {
		s := c.ask(c.a, "10.0.0.2:7")
		c.sleep(1500 * time.Microsecond)
		c.cut()
		c.until(func() bool { return s.err != 0 })
		c.Heal()
	},
	"the answer is lost once": func(c *cluster) {
		s := c.ask(c.a, "10.0.0.2:7")
		c.sleep(1500 * time.Microsecond)
		c.cut()
		c.sleep(500 * time.Microsecond)
		c.Heal()
		c.until(func() bool { return s.Ready(driver.Writable) })
	},
	"the answer is held": func(c *cluster) {
		s := c.ask(c.a, "10.0.0.2:7")
		c.back().Hold()
		c.sleep(500 * time.Millisecond)
		c.back().Release()
		c.until(func() bool { return s.Ready(driver.Writable) })
	},
	"reset at once": func(c *cluster) {
		s, _ := c.dial()
		s.SetOption(driver.Linger, 0)
		s.Close()
	},
	"reset behind a cut": func(c *cluster) {
		s, _ := c.dial()
		c.cut()
		c.sleep(100 * time.Millisecond)
		s.SetOption(driver.Linger, 0)
		s.Close()
		c.Heal()
	},
	"closed, and nothing arrives": func(c *cluster) {
		s, _ := c.dial()
		c.cut()
		s.Close()
		c.sleep(time.Hour)
		c.Heal()
	},
	"no power, and nothing arrives": func(c *cluster) {
		c.dial()
		c.cut()
		c.a.stack.node.Outages++
		c.a.stack.DropAll()
		c.sleep(time.Hour)
		c.Heal()
		c.a = c.a.stack.node.Boot().Loop(func() {})
	},
	"no power after that": func(c *cluster) {
		c.dial()
		c.cut()
		c.sleep(100 * time.Millisecond)
		c.a.stack.node.Outages++
		c.a.stack.DropAll()
		c.Heal()
		c.a = c.a.stack.node.Boot().Loop(func() {})
	},
	"reset when it has been accepted": func(c *cluster) {
		s, _ := c.dial()
		c.sleep(10 * time.Millisecond)
		s.Close()
	},
}

// TestBacklog: a listener has as much room for connections as before, however an attempt ends.
func TestBacklog(t *testing.T) {
	for name, attempt := range attempts {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			l := c.listen(c.b, "0.0.0.0:7", 2)
			for range 3 {
				attempt(c)
				c.sleep(time.Second)
				for l.Ready(driver.Readable) {
					one, _, _ := l.Accept()
					one.Close()
				}
			}
			var asked []*streamSocket
			for range 3 {
				asked = append(asked, c.ask(c.a, "10.0.0.2:7"))
			}
			made := func() (n int) {
				for _, s := range asked {
					if s.phase == established {
						n++
					}
				}
				return n
			}
			if c.sleep(10 * time.Second); made() != 2 || len(l.queue) != 2 || l.coming != 0 {
				t.Errorf("%d of 3 are made, %d can be accepted, and %d are to come", made(), len(l.queue), l.coming)
			}
			_, _, _ = l.Accept()
			if c.until(func() bool { return made() == 3 }) == 0 {
				t.Error("the third is never made")
			}
		})
	}
}

// TestListenerGoes: a dial whose answer was lost finds that nobody listens any more. Those whom
// nobody has accepted are reset by a Close, and find out what a loss of power has done.
func TestListenerGoes(t *testing.T) {
	c := newCluster(t)
	l := c.listen(c.b, "0.0.0.0:7", 0)
	s := c.ask(c.a, "10.0.0.2:7")
	c.sleep(1500 * time.Microsecond)
	c.cut()
	c.sleep(time.Millisecond)
	l.Close()
	c.Heal()
	if c.until(func() bool { return s.err != 0 }); s.err != syscall.ECONNREFUSED {
		t.Error("the answer was lost:", s.err)
	}
	for _, one := range []struct {
		end  func(l *streamSocket)
		want time.Duration
	}{
		{(*streamSocket).Close, time.Millisecond},
		{func(l *streamSocket) { l.stack.DropAll() }, keepAlive},
	} {
		l = c.listen(c.b, "0.0.0.0:7", 0)
		s, _ = c.dial()
		c.sleep(10 * time.Millisecond)
		begin := c.now
		one.end(l)
		c.until(func() bool { return s.err != 0 })
		if took := time.Duration(c.now - begin).Round(10 * time.Microsecond); s.err != syscall.ECONNRESET || took != one.want {
			t.Errorf("after %v: %v; want a reset after %v", took, s.err, one.want)
		}
	}
}

// TestAddresses: who reaches a listener, and how the ends of a connection are named.
func TestAddresses(t *testing.T) {
	for _, one := range []struct {
		listens, dials string
		here, there    bool   // whether it is reached from its own host, and from another one
		from           string // the address of a client on the host
	}{
		{"0.0.0.0:7", "10.0.0.2:7", true, true, "10.0.0.2"},
		{"0.0.0.0:7", "127.0.0.1:7", true, false, "127.0.0.1"},
		{"0.0.0.0:7", "[::ffff:10.0.0.2]:7", true, true, "10.0.0.2"},
		{"10.0.0.2:7", "10.0.0.2:7", true, true, "10.0.0.2"},
		{"10.0.0.2:7", "127.0.0.1:7", false, false, ""},
		{"127.0.0.1:7", "127.0.0.1:7", true, false, "127.0.0.1"},
		{"127.0.0.1:7", "10.0.0.2:7", false, false, ""},
		{"127.0.0.1:7", "0.0.0.0:7", true, false, "127.0.0.1"},
		{"[::]:7", "10.0.0.2:7", true, true, "10.0.0.2"},
		{"[::]:7", "[::1]:7", true, false, "127.0.0.1"},
		{"[::1]:7", "[::1]:7", true, false, "127.0.0.1"},
		{"[::1]:7", "10.0.0.2:7", false, false, ""},
		{"0.0.0.0:8", "10.0.0.2:7", false, false, ""},
	} {
		c := newCluster(t)
		l := c.listen(c.b, one.listens, 0)
		reaches := func(from *Loop) bool {
			s := c.ask(from, one.dials)
			c.until(func() bool { return s.Ready(driver.Writable) })
			if s.phase != established {
				return false
			}
			c.sleep(2 * time.Millisecond)
			peer, name, errno := l.Accept()
			if errno != 0 {
				t.Fatal(errno)
			}
			here, there := s.Addrs()
			if local, remote := peer.Addrs(); local != there || remote != here || name != here {
				t.Errorf("%v has the ends %v and %v, and at the other end %v and %v", one, here, there, remote, local)
			}
			if from == c.b && here.Addr.Addr().String() != one.from {
				t.Errorf("%v: the client is at %v", one, here)
			}
			return true
		}
		if here, there := reaches(c.b), reaches(c.a); here != one.here || there != one.there {
			t.Errorf("%v: from its own host it is reached: %v, from another one: %v", one, here, there)
		}
	}
}

// TestLocalPort: a client has the port that it was bound to.
func TestLocalPort(t *testing.T) {
	c := newCluster(t)
	c.listen(c.b, "0.0.0.0:7", 0)
	s, _ := c.a.Socket("tcp")
	if err := s.Bind(at("0.0.0.0:1234"), false); err != nil {
		t.Fatal(err)
	}
	s.Connect(at("10.0.0.2:7"))
	if local, _ := s.Addrs(); local != at("10.0.0.1:1234") {
		t.Error(local)
	}
}

// unix returns a socket of a network within a host, with a name unless that is "".
func unix(t *testing.T, l *Loop, network, name string) driver.Socket {
	t.Helper()
	s, err := l.Socket(network)
	if err != nil {
		t.Fatal(err)
	}
	if name != "" {
		if err := s.Bind(driver.Peer{Name: name}, false); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestUnix: the names of both ends, what a name must stand for, and when a peer is gone.
func TestUnix(t *testing.T) {
	c := newCluster(t)
	l := unix(t, c.a, "unix", "/l").(*streamSocket)
	unix(t, c.a, "unixgram", "/d")
	for _, one := range []struct {
		network, name string
		err           syscall.Errno
	}{
		{"unix", "/l", syscall.ECONNREFUSED}, // it does not listen yet
		{"unix", "/none", syscall.ENOENT},
		{"unix", "/d", syscall.EPROTOTYPE},
		{"unixpacket", "/l", syscall.EPROTOTYPE},
		{"unixgram", "/none", syscall.ENOENT},
		{"unixgram", "/l", syscall.EPROTOTYPE},
		{"unixgram", "/d", 0},
	} {
		if errno := unix(t, c.a, one.network, "").Connect(driver.Peer{Name: one.name}); errno != one.err {
			t.Errorf("%s to %s: %v, want %v", one.network, one.name, errno, one.err)
		}
	}
	_ = l.Listen(2)
	s := unix(t, c.a, "unix", "/c").(*streamSocket)
	if errno := s.Connect(driver.Peer{Name: "/l"}); errno != 0 {
		t.Fatal(errno)
	}
	c.sleep(time.Millisecond)
	peer, name, _ := l.Accept()
	if local, remote := peer.Addrs(); local.Name != "/l" || remote.Name != "/c" || name.Name != "/c" {
		t.Errorf("accepted at %q from %q, %q", local.Name, remote.Name, name.Name)
	}
	peer.Close()
	if _, errno := s.Send([]byte("x"), driver.Peer{}); errno != syscall.EPIPE {
		t.Error("Send to a peer that has closed:", errno)
	}
	c.sleep(time.Millisecond)
	if text, err := receive(s); text != "" || err != nil {
		t.Errorf("then Receive: %q, %v", text, err)
	}
	// The name is that of the listener, whatever becomes of its connections.
	if errno := unix(t, c.a, "unix", "").Connect(driver.Peer{Name: "/l"}); errno != 0 {
		t.Error("after a connection was closed:", errno)
	}
	l.Close()
	if errno := unix(t, c.a, "unix", "").Connect(driver.Peer{Name: "/l"}); errno != syscall.ENOENT {
		t.Error("after the listener was closed:", errno)
	}
}
