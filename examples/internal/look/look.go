// Package look runs the chat of the tutorial with members in its room, and has the
// command rondo at hand, for what the documents show of both.
package look

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// A Chat is a step of the tutorial that runs. Everybody in it has been greeted, and all of its
// tasks wait.
type Chat struct {
	PID     int
	Members []net.Conn
	rondo   string
	cmd     *exec.Cmd
}

// Open builds the command rondo and the package into dir, starts the package, and
// connects the members. The end of ctx kills what runs.
func Open(ctx context.Context, dir, pkg string, names ...string) (*Chat, error) {
	chat := filepath.Join(dir, filepath.Base(pkg))
	c := &Chat{rondo: filepath.Join(dir, "rondo")}
	flags := "-w -X main.address=localhost:0 -X main.pageAddress=localhost:0"
	for _, args := range [][]string{
		{"build", "-ldflags=-w", "-o", c.rondo, "github.com/rondo-go/rondo/cmd/rondo"},
		{"build", "-o", chat, "-ldflags", flags, pkg},
	} {
		if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	c.cmd = exec.CommandContext(ctx, chat)
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.PID = c.cmd.Process.Pid
	address, lines := "", bufio.NewScanner(out)
	for found := false; !found && lines.Scan(); {
		address, found = strings.CutPrefix(lines.Text(), "listening on ")
	}
	for _, name := range names {
		if err := c.join(address, name); err != nil {
			c.Close()
			return nil, err
		}
	}
	if err := c.rest(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// rest returns when nothing in the chat runs: a task that has sent its line may not wait yet.
func (c *Chat) rest(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		out, err := c.Rondo(ctx, "ps", "--json").Output()
		if err != nil {
			return fmt.Errorf("rondo ps: %w\n%s", err, out)
		}
		p, err := inspect.ReadJSON(bytes.NewReader(out))
		if err != nil {
			return err
		}
		if rests(p) {
			return nil
		}
	}
}

// rests reports whether each task and each goroutine of the program itself waits.
func rests(p *inspect.Program) bool {
	for _, l := range p.Loops {
		if !l.Exact {
			return false
		}
		for _, t := range l.Tasks {
			if t.State != "waiting" {
				return false
			}
		}
	}
	return !slices.ContainsFunc(p.Goroutines, func(g *inspect.Goroutine) bool {
		return g.Kind == "" && slices.Contains([]string{"running", "runnable", "preempted", "ran meanwhile"}, g.State)
	})
}

// join connects a member. It returns when everybody has read that the member came in.
func (c *Chat) join(address, name string) error {
	m, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	in := bufio.NewScanner(m)
	in.Scan() // your name?
	if _, err := fmt.Fprintln(m, name); err != nil {
		return err
	}
	if in.Scan(); in.Text() != "welcome, "+name {
		return fmt.Errorf("%s reads %q, not a welcome", name, in.Text())
	}
	for _, o := range c.Members {
		if _, err := o.Read(make([]byte, len(name+" came in\n"))); err != nil {
			return err
		}
	}
	c.Members = append(c.Members, m)
	return nil
}

// Rondo returns a call of the command rondo about the chat.
func (c *Chat) Rondo(ctx context.Context, verb string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, c.rondo, append(append([]string{verb}, args...), fmt.Sprint(c.PID))...)
}

// Close ends the chat.
func (c *Chat) Close() {
	for _, m := range c.Members {
		m.Close()
	}
	_ = c.cmd.Process.Signal(os.Interrupt)
	_ = c.cmd.Wait() // what it returned is not asked for
}
