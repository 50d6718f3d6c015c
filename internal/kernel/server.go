package kernel

import "sync/atomic"

// A Server is the counters of one server on one loop. They are of all that it has done since
// it was made. Readers from outside know its form; any goroutine may use the counters.
type Server struct {
	Self *Server // itself while it is in a list of AddServer
	Name string  // the address of its listener

	// The counters begin with Accepted, in the order of layout.ServerAccepted. Further ones
	// are added at the end.
	Accepted, Open, RefusedByAddr, RefusedByRate, Handshakes, Silent, Idle, PeerClosed, Errors, Panics atomic.Int64
}
