package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestCluster has the proxy, unchanged, terminate TLS on a simulated host between a
// client and an echo server. It ends by a signal, and lets the connection finish.
func TestCluster(t *testing.T) {
	*address, *to = ":7443", "server:7777"
	config := sim.Config{Seeds: 5, Exact: true} // the grace is 5 s
	config.Cluster(t, func(ctx context.Context, w *sim.World) {
		cryptotest.SetGlobalRandom(t, 1) // handshakes differ in length by chance
		w.Host("server", func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", ":7777")
			if err != nil {
				return err
			}
			return socket.Serve(ctx, l, func(_ context.Context, c net.Conn) error {
				_, err := io.Copy(c, c)
				return err
			})
		})
		proxy := w.Host("proxy", run)
		if err := rondo.Sleep(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		c, err := socket.Dial(ctx, "tcp", "proxy:7443")
		if err != nil {
			t.Fatal(err)
		}
		s := socket.TLSClient(ctx, c, &tls.Config{InsecureSkipVerify: true})
		defer s.Close()
		in := bufio.NewReader(s)
		for n := range 3 {
			if _, err := fmt.Fprintln(s, "line", n); err != nil {
				t.Fatal(err)
			}
			if got, err := in.ReadString('\n'); err != nil || got != fmt.Sprintln("line", n) {
				t.Fatalf("%q, %v", got, err)
			}
		}
		// A certificate with the time of day in it would differ from run to run, and
		// so would the length of its signature.
		if left := s.ConnectionState().PeerCertificates[0].NotAfter.Sub(rondo.Now(ctx)); left > 93*24*time.Hour {
			t.Error("the certificate is valid for", left)
		}
		proxy.Signal(os.Interrupt)
		if err := rondo.Sleep(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		if _, err := socket.Dial(ctx, "tcp", "proxy:7443"); err == nil {
			t.Error("it still accepts after the signal")
		}
		if _, err := fmt.Fprintln(s, "bye"); err != nil {
			t.Error(err)
		}
		if got, err := in.ReadString('\n'); err != nil || got != "bye\n" {
			t.Errorf("in the time of grace: %q, %v", got, err)
		}
		if err := w.Eventually(ctx, 20*time.Second, func() bool { return !proxy.Up() }); err != nil {
			t.Error("the proxy has not ended:", err)
		}
	})
}
