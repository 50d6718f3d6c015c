package main

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
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
