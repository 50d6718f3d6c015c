package main

import (
	"context"
	"encoding/json"
	"net"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestDeposedWhileDialling has another leader replace the entries that a leader is about to
// send, while it waits for the connection: what it sends is of its own term.
func TestDeposedWhileDialling(t *testing.T) {
	sim.Config{Seeds: 20}.Cluster(t, func(ctx context.Context, w *sim.World) {
		var got []request
		w.Host("follower", func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", ":7200")
			if err != nil {
				return err
			}
			return (&socket.Server{OnError: quiet, Handler: func(_ context.Context, c net.Conn) error {
				var q request
				err := json.NewDecoder(c).Decode(&q)
				got = append(got, q)
				return err
			}}).Serve(ctx, l)
		})
		n, err := openNode(ctx, config{id: 1, peers: []string{"", "follower:7200", ""}, folder: "/data", most: 64})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.begin(1, 1); err != nil {
			t.Fatal(err)
		}
		r := &leadership{node: n, term: 1, match: make([]int, 3), seen: make([]int, 3)}
		for range 2 {
			if _, err := r.propose(command{Do: "set"}); err != nil {
				t.Fatal(err)
			}
		}
		replication := rondo.Go(ctx, func(ctx context.Context) error { return r.replicate(ctx, 1) })
		_ = rondo.Sleep(ctx, time.Microsecond)
		if err := n.begin(2, 0); err != nil {
			t.Fatal(err)
		}
		if err := n.replace(0, []entry{{2, command{Do: "set"}}, {2, command{Do: "set"}}}); err != nil {
			t.Fatal(err)
		}
		_ = w.Eventually(ctx, time.Minute, func() bool { return len(got) > 0 })
		replication.Cancel(nil)
		for _, q := range got {
			for _, e := range q.AppendEntries.Entries {
				if e.Term > q.AppendEntries.Term {
					t.Errorf("an entry of term %d was sent in term %d", e.Term, q.AppendEntries.Term)
				}
			}
		}
	})
}
