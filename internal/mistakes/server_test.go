package mistakes

// The servers, clients and files that the programs are made of.

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// serve accepts connections at :1 for a handler.
func serve(ctx context.Context, handle func(ctx context.Context, c net.Conn) error) error {
	l, err := socket.Listen(ctx, "tcp", ":1")
	if err != nil {
		return err
	}
	return socket.Serve(ctx, l, func(ctx context.Context, c net.Conn) error {
		_ = handle(ctx, c)
		return nil
	})
}

// serveLines answers each line that comes with what answer returns. "" is no answer.
func serveLines(ctx context.Context, answer func(ctx context.Context, line string) string) error {
	return serve(ctx, func(ctx context.Context, c net.Conn) error {
		in := bufio.NewReader(c)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return err // half a line is none
			}
			reply := answer(ctx, strings.TrimSuffix(line, "\n"))
			if reply == "" {
				return nil
			}
			if _, err := io.WriteString(c, reply+"\n"); err != nil {
				return err
			}
		}
	})
}

// ask sends a line to an address and returns the answer.
func ask(ctx context.Context, address string, patience time.Duration, line string) (reply string, err error) {
	err = rondo.Timeout(ctx, patience, func(ctx context.Context) error {
		c, err := socket.Dial(ctx, "tcp", address)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := io.WriteString(c, line+"\n"); err != nil {
			return err
		}
		in := bufio.NewScanner(c)
		if !in.Scan() {
			return errors.Join(in.Err(), io.ErrUnexpectedEOF)
		}
		reply = in.Text()
		return nil
	})
	return reply, err
}

// persist asks again and again until there is an answer.
func persist(ctx context.Context, address string, patience time.Duration, line string) string {
	for rondo.Check(ctx) == nil {
		if reply, err := ask(ctx, address, patience, line); err == nil {
			return reply
		}
		_ = rondo.Sleep(ctx, 50*ms)
	}
	return ""
}

func napping(ctx context.Context, most time.Duration) {
	_ = rondo.Sleep(ctx, time.Duration(sim.Choose(ctx, int(most/ms)))*ms)
}

// must panics with an error, unless the process ends.
func must(err error) {
	if err != nil && !errors.Is(err, os.ErrClosed) {
		panic(err)
	}
}

// readFile returns the number in a file, or 0.
func readFile(ctx context.Context, name string) (int, error) {
	f, err := sim.Disk(ctx).OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err
}

// writeFile puts a number into a file, which has the old one or the new one whatever
// happens.
func writeFile(ctx context.Context, name string, n int) error {
	d := sim.Disk(ctx)
	f, err := d.OpenFile(name+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = io.WriteString(f, strconv.Itoa(n)); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = d.Rename(name+".new", name)
	}
	if err == nil {
		err = d.SyncDir(".")
	}
	return err
}

const ms = time.Millisecond
