package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

func TestEchoAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	status, out, said := invoke("echo", "--addr", l.Addr().String())
	want := fmt.Sprintf("rondo echo: %s is in use; choose another port, or 0 for any free one: --addr 127.0.0.1:0\n", l.Addr())
	if status != exitFailed || out != "" || said != want {
		t.Errorf("status %d, output %q, error %q", status, out, said)
	}
}

func TestListenError(t *testing.T) {
	fail := func(errno syscall.Errno) error {
		return &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", errno)}
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{fail(syscall.EADDRINUSE), "h:1 is in use; choose another port, or 0 for any free one: --addr 127.0.0.1:0"},
		{fail(syscall.EACCES), "h:1 needs more rights to listen on; choose a port above 1023"},
		{fail(syscall.EADDRNOTAVAIL), "h:1 is not an address of this machine; choose 127.0.0.1, or leave out the host to listen on all addresses"},
		{&net.DNSError{Err: "no such host", Name: "h"}, "cannot listen on h:1; choose another --addr: lookup h: no such host"},
	} {
		if got := listenError("h:1", test.err).Error(); got != test.want {
			t.Errorf("%v gives %q, want %q", test.err, got, test.want)
		}
	}
}

// When the server says that it ends, it listens no longer: the loop stands still
// while the test looks.
func TestEchoListensNoLongerThanItSays(t *testing.T) {
	var address string
	var conn net.Conn
	ended, refused := false, false
	e := &echoServer{addr: "127.0.0.1:0", grace: time.Hour}
	e.console = &console{out: writerFunc(func(b []byte) (int, error) {
		text := string(b)
		switch {
		case strings.HasPrefix(text, "Listening on "):
			address = strings.Fields(text)[2]
			address = strings.TrimSuffix(address, ".")
			var err error
			if conn, err = net.Dial("tcp", address); err != nil {
				t.Error(err)
			}
		case strings.Contains(text, "may go on"):
			late, err := net.Dial("tcp", address)
			if refused = err != nil; !refused {
				late.Close()
			}
			conn.Close()
		case strings.HasPrefix(text, "Ended by Ctrl-C."):
			ended = true
		}
		return len(b), nil
	})}
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error {
			for e.served.Load() == 0 {
				if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
					return err
				}
			}
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return err
			}
			return self.Signal(os.Interrupt)
		})
		return e.main(ctx)
	})
	if err != nil || !ended || !refused {
		t.Errorf("error %v, ended %v, refused %v", err, ended, refused)
	}
}
