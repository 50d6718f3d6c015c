package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats/internal/rpc"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// A datagram goes from a station to the hub, or from the hub to a station.
type datagram struct {
	Subscribe, Unsubscribe bool
	ID                     int // of the subscription, at its station
	Seq                    int // of a message, at its station
	Subject, Queue         string
	Message                rpc.Message
}

// A station is the Transport of a host of a cluster: each message is a datagram to the
// hub, which hands it on. Subscriptions are sent again and again, since any may be lost and
// the hub forgets them when it crashes.
type station struct {
	conn    net.PacketConn
	hub     net.Addr
	name    string
	inboxes int
	lastID  int
	lastSeq int
	subs    []*stationSubscription
}

type stationSubscription struct {
	datagram
	fn func(m rpc.Message)
}

const (
	renewal = 200 * time.Millisecond
	hubPort = 4222
)

// newStation makes the station of ctx's host. g owns its tasks.
func newStation(g *rondo.Scope, hub netip.Addr, name string) (*station, error) {
	conn, err := socket.ListenPacket(g, "udp", "0.0.0.0:0")
	if err != nil {
		return nil, err
	}
	s := &station{conn: conn, name: name, hub: net.UDPAddrFromAddrPort(netip.AddrPortFrom(hub, hubPort))}
	g.Go(func(ctx context.Context) error {
		return receiveDatagrams(conn, func(d datagram, _ net.Addr) error {
			for _, sub := range slices.Clone(s.subs) {
				if sub.ID == d.ID {
					sub.fn(d.Message)
				}
			}
			return nil
		})
	})
	g.Go(func(ctx context.Context) error {
		for range rondo.Every(ctx, renewal) {
			for _, sub := range slices.Clone(s.subs) {
				if err := s.send(sub.datagram); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return s, nil
}

func receiveDatagrams(conn net.PacketConn, fn func(d datagram, from net.Addr) error) error {
	buf := make([]byte, 4096)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return err
		}
		var d datagram
		if err := json.Unmarshal(buf[:n], &d); err != nil {
			return err
		}
		if err := fn(d, from); err != nil {
			return err
		}
	}
}

func (s *station) send(d datagram) error {
	data, err := json.Marshal(d)
	if err == nil {
		_, err = s.conn.WriteTo(data, s.hub)
	}
	return err
}

func (s *station) MaxPayload() int { return 1000 }

func (s *station) Inbox() string {
	s.inboxes++
	return fmt.Sprint("_INBOX.", s.name, ".", s.conn.LocalAddr(), ".", s.inboxes)
}

func (s *station) Publish(ctx context.Context, m rpc.Message) error {
	if err := rondo.Check(ctx); err != nil {
		return err
	}
	s.lastSeq++
	return s.send(datagram{Message: m, Seq: s.lastSeq})
}

func (s *station) Subscribe(ctx context.Context, subject, queue string, fn func(m rpc.Message)) (func(), error) {
	if err := rondo.Check(ctx); err != nil {
		return nil, err
	}
	s.lastID++
	sub := &stationSubscription{datagram{Subscribe: true, ID: s.lastID, Subject: subject, Queue: queue}, fn}
	s.subs = append(s.subs, sub)
	return func() {
		s.subs = slices.DeleteFunc(s.subs, func(o *stationSubscription) bool { return o == sub })
		gone := sub.datagram
		gone.Subscribe, gone.Unsubscribe = false, true
		_ = s.send(gone) // it is forgotten in time
	}, s.send(sub.datagram)
}

// A hubSubscription is what the hub knows of one.
type hubSubscription struct {
	datagram
	from net.Addr
	seen time.Time
}

// runHub is the boot function of the hub. It forgets what was not renewed for a second.
// known are the messages that it has received: no second one comes from a station, as over
// a connection. Those that it sends may come twice.
func runHub(ctx context.Context, known map[string]bool) error {
	conn, err := socket.ListenPacket(ctx, "udp", fmt.Sprint("0.0.0.0:", hubPort))
	if err != nil {
		return err
	}
	var subs []*hubSubscription
	var route func(m rpc.Message) error
	deliver := func(s *hubSubscription, m rpc.Message) error {
		data, err := json.Marshal(datagram{ID: s.ID, Message: m})
		if err == nil {
			_, err = conn.WriteTo(data, s.from)
		}
		return err
	}
	route = func(m rpc.Message) error {
		subs = slices.DeleteFunc(subs, func(s *hubSubscription) bool { return rondo.Now(ctx).Sub(s.seen) > time.Second })
		var queued []*hubSubscription
		found := false
		for _, s := range subs {
			switch {
			case !matches(s.Subject, m.Subject):
			case s.Queue != "": // there is one queue for a name
				queued = append(queued, s)
			default:
				found = true
				if err := deliver(s, m); err != nil {
					return err
				}
			}
		}
		switch {
		case len(queued) > 0:
			return deliver(queued[sim.Choose(ctx, len(queued))], m)
		case !found && m.Reply != "":
			return route(rpc.Message{Subject: m.Reply, Kind: rpc.Unreachable})
		}
		return nil
	}
	return receiveDatagrams(conn, func(d datagram, from net.Addr) error {
		if !d.Subscribe && !d.Unsubscribe {
			key := fmt.Sprint(from, " ", d.Seq)
			if known[key] {
				return nil
			}
			known[key] = true
			return route(d.Message)
		}
		same := func(s *hubSubscription) bool { return s.ID == d.ID && s.from.String() == from.String() }
		subs = slices.DeleteFunc(subs, same)
		if d.Subscribe {
			subs = append(subs, &hubSubscription{d, from, rondo.Now(ctx)})
		}
		return nil
	})
}

// TestCluster: the same on a cluster of hosts, each with a loop of its own, which lose,
// double and reorder datagrams, crash, are paused and are cut off. After that, when the
// faults are over, calls are answered again, and no function is left running.
func TestCluster(t *testing.T) {
	network := sim.Network{PacketLoss: 0.03, Reorder: 0.05, Duplicate: 0.05}
	sim.Config{Seeds: 40, SeedsShort: 4, Network: network}.Cluster(t, func(ctx context.Context, w *sim.World) {
		r := &trial{t: t, net: &network0, away: true}
		known := make(map[string]bool)
		hub := w.Host("hub", func(ctx context.Context) error { return runHub(ctx, known) })
		var hosts []*sim.Host
		latest := make([]*worker, 2)
		for i := range latest {
			hosts = append(hosts, w.Host(fmt.Sprint("worker", i), func(ctx context.Context) error {
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					s, err := newStation(g, hub.Addr(), "worker")
					if err != nil {
						return err
					}
					e, err := rpc.New(g, g, s)
					if err != nil {
						return err
					}
					me := &worker{host: &host{name: fmt.Sprint("worker", i)}, endpoint: e}
					latest[i] = me
					return e.Serve(g, "f", 2, func(ctx context.Context, _ map[string][]string, data []byte) ([]byte, error) {
						return r.run(ctx, me, string(data))
					}, func() {})
				})
			}))
		}
		var caller *rpc.Endpoint
		done := false
		hosts = append(hosts, w.Host("caller", func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				s, err := newStation(g, hub.Addr(), "caller")
				if err != nil {
					return err
				}
				if caller, err = rpc.New(g, g, s); err != nil {
					return err
				}
				return rondo.Group(g, func(calls *rondo.Scope) error {
					for i := range 10 {
						calls.Go(func(ctx context.Context) error {
							if err := rondo.Sleep(ctx, time.Duration(sim.Choose(ctx, 6000))*time.Millisecond); err != nil {
								return err
							}
							r.call(ctx, caller, fmt.Sprint("call ", i))
							return nil
						})
					}
					calls.Go(func(ctx context.Context) error { return r.callUntilAnswered(ctx, caller, &done) })
					return nil
				})
			})
		}))
		err := r.breakHosts(ctx, w, hub, hosts, latest)
		w.Calm()
		r.calm = true
		if err := errors.Join(err, w.Eventually(ctx, 5*time.Minute, func() bool { return done && r.allReturned() })); err != nil {
			t.Error(err)
			return
		}
		idle := func() bool {
			calls, jobs := caller.Held()
			for _, l := range latest {
				c, j := l.endpoint.Held()
				calls, jobs = calls+c, jobs+j+l.running
			}
			return calls+jobs == 0
		}
		if err := w.Eventually(ctx, time.Minute, idle); err != nil {
			t.Errorf("something is left running: %v", err)
		}
		for _, c := range r.calls {
			r.check(ctx, c)
		}
	})
}

// network0 stands for a network that is not calm.
var network0 network

// callUntilAnswered calls until the faults are over and a call is answered.
func (r *trial) callUntilAnswered(ctx context.Context, e *rpc.Endpoint, done *bool) error {
	for i := 0; !*done; i++ {
		if err := rondo.Sleep(ctx, 2*time.Second); err != nil {
			return err
		}
		if !r.calm {
			continue
		}
		id := fmt.Sprint("last ", i)
		r.call(ctx, e, id)
		j := slices.IndexFunc(r.calls, func(c *record) bool { return c.id == id })
		*done = r.calls[j].err == nil && strings.HasPrefix(r.calls[j].result, "result")
	}
	return nil
}

func (r *trial) allReturned() bool {
	return len(r.calls) > 10 && !slices.ContainsFunc(r.calls, func(c *record) bool { return !c.returned })
}

// breakHosts breaks one thing after the other, for some seconds.
func (r *trial) breakHosts(ctx context.Context, w *sim.World, hub *sim.Host, hosts []*sim.Host, latest []*worker) error {
	for range 4 {
		if err := rondo.Sleep(ctx, time.Duration(sim.Choose(ctx, 3000))*time.Millisecond); err != nil {
			return err
		}
		victim := sim.Choose(ctx, len(latest))
		switch sim.Choose(ctx, 5) {
		case 1:
			if latest[victim] != nil {
				latest[victim].ending, latest[victim].dead = true, true
			}
			hosts[victim].Crash()
		case 2:
			w.Partition([]*sim.Host{hosts[sim.Choose(ctx, len(hosts))]}, nil)
		case 3:
			hub.Crash()
		case 4:
			hosts[sim.Choose(ctx, len(hosts))].Pause(time.Duration(sim.Choose(ctx, 4000)) * time.Millisecond)
		}
		if err := rondo.Sleep(ctx, time.Duration(sim.Choose(ctx, 4000))*time.Millisecond); err != nil {
			return err
		}
		w.Heal()
		for _, h := range append([]*sim.Host{hub}, hosts[:len(latest)]...) {
			if !h.Up() {
				h.Restart()
			}
		}
	}
	return nil
}
