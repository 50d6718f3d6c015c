package socket_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// dialer dials on the network of a host for goroutines of it, as net/http asks for.
func dialer(host context.Context) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		both, cancel := context.WithCancelCause(host)
		defer cancel(nil)
		defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
		return socket.Dial(both, network, address)
	}
}

// serveHTTP is the program of a host: net/http's server, on goroutines.
func serveHTTP(ctx context.Context) error {
	return rondo.OffloadFunc(ctx, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", ":80")
		if err != nil {
			return err
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			<-time.After(10 * time.Millisecond)
			_, _ = fmt.Fprint(w, r.URL.Path, len(b))
		})}
		return s.Serve(l)
	})
}

// post sends so many bytes to the server, and returns its answer.
func post(ctx context.Context, c *http.Client, path string, size int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server"+path, bytes.NewReader(make([]byte, size)))
	if err != nil {
		return "", err
	}
	res, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	return string(b), err
}

// TestAroundHTTP: the server of net/http runs on a host, and its client on another one.
func TestAroundHTTP(t *testing.T) {
	good := 0
	sim.Config{Seeds: 30, Goroutines: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
		w.Host("server", serveHTTP)
		_ = rondo.Sleep(ctx, time.Second)
		client := &http.Client{Transport: &http.Transport{DialContext: dialer(ctx)}}
		err := rondo.OffloadFunc(ctx, func(ctx context.Context) error {
			for i := range 5 {
				text, err := post(ctx, client, fmt.Sprintf("/%d/", i), 100*i)
				if err != nil {
					return err
				}
				if text != fmt.Sprintf("/%d/%d", i, 100*i) {
					return fmt.Errorf("request %d was answered %q", i, text)
				}
				good++
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		client.CloseIdleConnections()
	})
	if good == 0 {
		t.Error("no request succeeded")
	}
}

// TestAroundFaults: three clients at one instant, and faults of the seed.
func TestAroundFaults(t *testing.T) {
	good, bad := 0, 0
	c := sim.Config{Seeds: 30, Goroutines: true, Faults: sim.Faults{Crash: 0.5, PowerFail: 0.3, Partition: 0.5, Pause: 0.3}}
	c.Cluster(t, func(ctx context.Context, w *sim.World) {
		w.Host("server", serveHTTP)
		_ = rondo.Sleep(ctx, time.Second)
		client := &http.Client{Transport: &http.Transport{DialContext: dialer(ctx)}}
		ended := make(chan error)
		for i := range 3 {
			go func() {
				for j := range 5 {
					text, err := post(ctx, client, fmt.Sprintf("/%d/%d/", i, j), 1000*i)
					if err == nil && text != fmt.Sprintf("/%d/%d/%d", i, j, 1000*i) {
						t.Errorf("request %d of client %d was answered %q", j, i, text)
					}
					ended <- err
					<-time.After(time.Second)
				}
			}()
		}
		for range 15 {
			err, _, waited := rondo.Receive(ctx, ended)
			switch {
			case waited != nil:
				t.Error(waited)
			case err != nil:
				bad++
			default:
				good++
			}
		}
		client.CloseIdleConnections()
	})
	if good == 0 || bad == 0 {
		t.Errorf("%d requests succeeded and %d failed: want both", good, bad)
	}
	t.Log(good, bad)
}

// TestAroundWriteUnderLock: a goroutine holds a lock of package sync while it writes more than
// the connection holds, and another one waits for the lock. The peer reads a minute later.
func TestAroundWriteUnderLock(t *testing.T) {
	const size = 300 << 10
	c := sim.Config{Seeds: 5, Goroutines: true, Network: sim.Network{Buffer: 16 << 10}}
	c.Cluster(t, func(ctx context.Context, w *sim.World) {
		var read int64
		w.Host("server", func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", ":80")
			if err != nil {
				return err
			}
			c, err := l.Accept()
			if err != nil {
				return err
			}
			if err := rondo.Sleep(ctx, time.Minute); err != nil {
				return err
			}
			read, err = io.Copy(io.Discard, c)
			return err
		})
		_ = rondo.Sleep(ctx, time.Second)
		c, err := socket.Dial(ctx, "tcp", "server:80")
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		err = rondo.OffloadFunc(ctx, func(context.Context) error {
			var writers sync.WaitGroup
			for range 2 {
				writers.Go(func() {
					mu.Lock()
					defer mu.Unlock()
					if _, err := c.Write(make([]byte, size)); err != nil {
						t.Error(err)
					}
				})
			}
			writers.Wait()
			return c.Close()
		})
		if err != nil {
			t.Error(err)
		}
		_ = rondo.Sleep(ctx, 10*time.Minute)
		if read != 2*size {
			t.Error("the server has read", read, "bytes")
		}
	})
}
