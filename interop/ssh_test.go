package interop_test

// x/crypto/ssh on Rondo's connections. It is made of goroutines and channels: each
// of its calls waits on a channel that one of its goroutines serves from the
// connection. So both ends belong on goroutines, and a task uses them through
// Offload. The connections may belong to the loop, because goroutines may use them
// too.

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// shell is a server whose only program is cat.
func shell(c net.Conn, config *ssh.ServerConfig) error {
	conn, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return err
	}
	defer conn.Close()
	go ssh.DiscardRequests(requests)
	for offer := range channels {
		channel, requests, err := offer.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer channel.Close()
			for r := range requests {
				_ = r.Reply(r.Type == "exec", nil)
				if r.Type == "exec" {
					_, _ = io.Copy(channel, channel)
					_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{0}))
					return
				}
			}
		}()
	}
	return nil
}

// signer makes a key.
func signer(t *testing.T) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// connectSSH returns a client on a connection.
func connectSSH(c net.Conn, config *ssh.ClientConfig) (*ssh.Client, error) {
	conn, channels, requests, err := ssh.NewClientConn(c, c.RemoteAddr().String(), config)
	if err != nil {
		return nil, err
	}
	return ssh.NewClient(conn, channels, requests), nil
}

// cat runs a session, sends input, and returns what came back.
func cat(client *ssh.Client, input []byte) ([]byte, error) {
	session, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	defer session.Close()
	session.Stdin = bytes.NewReader(input)
	return session.Output("cat")
}

// TestSSH: both ends use connections of one loop, on goroutines, and the loop runs
// other tasks meanwhile.
func TestSSH(t *testing.T) {
	const clients = 5
	server := &ssh.ServerConfig{NoClientAuth: true}
	host := signer(t)
	server.AddHostKey(host)
	client := &ssh.ClientConfig{User: "u", HostKeyCallback: ssh.FixedHostKey(host.PublicKey())}
	var at overlap
	run(t, func(ctx context.Context) error {
		handler := func(ctx context.Context, c net.Conn) error {
			_, err := rondo.Offload(ctx, func(context.Context) (struct{}, error) {
				return struct{}{}, shell(c, server)
			})
			return err
		}
		turns, err := beats(ctx, func(ctx context.Context) error {
			return serving(t, ctx, handler, func(ctx context.Context, address string) error {
				return all(ctx, clients, func(ctx context.Context, i int) error {
					c, err := socket.Dial(ctx, "tcp", address)
					if err != nil {
						return err
					}
					defer c.Close()
					input := bytes.Repeat([]byte(fmt.Sprintln("client", i)), 10_000)
					leave := at.enter()
					defer leave()
					got, err := rondo.Offload(ctx, func(context.Context) ([]byte, error) {
						client, err := connectSSH(c, client)
						if err != nil {
							return nil, err
						}
						defer client.Close()
						return cat(client, input)
					})
					if !bytes.Equal(got, input) {
						t.Errorf("sent %d bytes, %d came back", len(input), len(got))
					}
					return err
				})
			})
		})
		if turns == 0 {
			t.Error("no other task ran meanwhile")
		}
		return err
	})
	at.want(t, clients)
}

// TestSSHInTask shows what a session in a task does. It works with a server that is
// not on the loop, because the library's goroutines do not need the loop. No other
// task runs meanwhile.
func TestSSHInTask(t *testing.T) {
	server := &ssh.ServerConfig{NoClientAuth: true}
	host := signer(t)
	server.AddHostKey(host)
	client := &ssh.ClientConfig{User: "u", HostKeyCallback: ssh.FixedHostKey(host.PublicKey())}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			err = shell(c, server)
		}
		served <- err
	}()
	run(t, func(ctx context.Context) error {
		c, err := socket.Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		client, err := connectSSH(c, client)
		if err != nil {
			return err
		}
		defer client.Close()
		session, err := client.NewSession()
		if err != nil {
			return err
		}
		defer session.Close()
		if err := session.Start("cat"); err != nil {
			return err
		}
		turns, err := beats(ctx, func(context.Context) error { return session.Wait() })
		if turns != 0 {
			t.Errorf("the loop had %d turns", turns)
		}
		return err
	})
	if err := <-served; err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
