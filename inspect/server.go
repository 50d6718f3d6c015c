package inspect

// The counters of a server, in the order of its record in the program, and the words for them.

import (
	"fmt"
	"strings"

	"github.com/rondo-go/rondo/internal/layout"
)

// counters are the counters of a server by their places in its record.
func (s *Server) counters() [layout.ServerCounters]*int64 {
	return [...]*int64{
		layout.ServerAccepted: &s.Accepted, layout.ServerOpen: &s.Open, layout.ServerRefusedByAddr: &s.RefusedByAddr,
		layout.ServerRefusedByRate: &s.RefusedByRate, layout.ServerHandshakes: &s.Handshakes, layout.ServerSilent: &s.Silent,
		layout.ServerIdle: &s.Idle, layout.ServerPeerClosed: &s.PeerClosed, layout.ServerErrors: &s.Errors, layout.ServerPanics: &s.Panics,
	}
}

// Since returns what the server has counted since an earlier snapshot of it. Open is not a
// difference: it is the present number.
func (s Server) Since(earlier Server) Server {
	open := s.Open
	for i, counter := range s.counters() {
		*counter -= *earlier.counters()[i]
	}
	s.Open = open
	return s
}

// String returns the name and the counters in words.
func (s Server) String() string { return clip(s.Name) + ": " + s.Counts() }

// Counts returns the counters in words. Counters that are 0 are left out, except those of
// connections.
func (s Server) Counts() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d accepted", count(int(s.Open), "connection"), s.Accepted)
	for _, part := range []struct {
		n    int64
		text string
	}{
		{s.RefusedByAddr, "refused as too many of one address"}, {s.RefusedByRate, "refused as too fast"},
		{s.Handshakes, "failed in the handshake"}, {s.Silent, "sent nothing in time"}, {s.Idle, "idle for too long"},
		{s.PeerClosed, "cancelled because the peer had left"}, {s.Errors, "ended with an error"}, {s.Panics, "with a panic"},
	} {
		if part.n != 0 {
			fmt.Fprintf(&b, ", %d %s", part.n, part.text)
		}
	}
	return b.String()
}
