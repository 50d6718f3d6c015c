package main

// Networks that can be cut: each process is in a network namespace of its own, and a bridge in the
// namespace of the test joins them. The test runs itself again in that one, so nothing of the
// machine is changed, and the kernel removes all with the last process.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

const hubVariable = "FARM_HUB"

// ip runs the command ip(8).
func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %v: %w: %s", args, err, out)
	}
	return nil
}

// inHub runs the test in a network namespace, and reports whether it did. It is false there, and if
// this process may not.
func inHub(t *testing.T) bool {
	if os.Getenv(hubVariable) != "" {
		return false
	}
	try := exec.Command(os.Args[0])
	try.Env = append(os.Environ(), "FARM_ROLE=try")
	try.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if out, err := try.CombinedOutput(); err != nil {
		t.Logf("no network is cut, because this process may not make any: %v %s", err, out)
		return false
	}
	c := exec.Command(os.Args[0], "-test.run=^TestFarm$", "-test.v", "-test.count=1", "-farm="+farmTime.String())
	c.Env = append(os.Environ(), hubVariable+"=1")
	c.SysProcAttr = try.SysProcAttr
	out, err := c.CombinedOutput()
	t.Logf("in a network namespace: %s", out)
	if err != nil {
		t.Error(err)
	}
	return true
}

// bridge makes the network of the hub.
func bridge() error {
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"link", "add", "farm", "type", "bridge"},
		{"addr", "add", "10.77.0.1/24", "dev", "farm"},
		{"link", "set", "farm", "up"},
	} {
		if err := ip(args...); err != nil {
			return err
		}
	}
	return nil
}

// A cable is the network of a process.
type cable struct {
	host int    // the last number of its address
	name string // of its end at the bridge; it changes with each start
	used int
}

// cables returns a cable for each of n processes, nil if no network may be cut, and their
// addresses.
func cables(n int) (all []*cable, hosts []string, err error) {
	all, hosts = make([]*cable, n), make([]string, n)
	for i := range hosts {
		hosts[i] = "127.0.0.1"
		if os.Getenv(hubVariable) != "" {
			all[i] = &cable{host: 10 + i}
			hosts[i] = fmt.Sprint("10.77.0.", all[i].host)
		}
	}
	if all[0] != nil {
		err = bridge()
	}
	return all, hosts, err
}

// start starts a process at the end of the cable.
func (c *cable) start(p *exec.Cmd) error {
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if c == nil {
		return p.Start()
	}
	p.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET
	p.Env = append(p.Env, fmt.Sprint("FARM_HOST=", c.host))
	in, err := p.StdinPipe()
	if err != nil {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	c.used++
	c.name = fmt.Sprint("f", c.host, "n", c.used)
	return errors.Join(
		ip("link", "add", c.name, "type", "veth", "peer", "name", "eth0", "address", fmt.Sprintf("02:00:00:00:00:%02x", c.host), "netns", fmt.Sprint(p.Process.Pid)),
		ip("link", "set", c.name, "master", "farm", "up"),
		in.Close(),
	)
}

// plugIn is called in the process, before it does anything: it waits for its end of the cable.
func plugIn() error {
	host := os.Getenv("FARM_HOST")
	if host == "" {
		return nil
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return errors.Join(ip("link", "set", "lo", "up"), ip("addr", "add", "10.77.0."+host+"/24", "dev", "eth0"), ip("link", "set", "eth0", "up"))
}

// cut makes the network drop all that comes from the process or goes to it. It returns the name of
// the cable, and may block.
func (c *cable) cut() (string, error) { return c.name, ip("link", "set", c.name, "nomaster") }

// mend is cut's opposite. If the process has ended, its network has ended with it. It may block.
func (c *cable) mend(name string) (string, error) {
	if c.name != name {
		return c.name, nil
	}
	_ = ip("link", "set", name, "master", "farm")
	return name, nil
}
