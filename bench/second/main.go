//go:build linux

// Second measures rows of README's table once more: Rondo and goroutines, by a program that
// shares no code with the one in the folder above.
//
//	taskset -c 0 go run ./bench/second switch 2
//	taskset -c 0 go run ./bench/second switch 1000
//	taskset -c 0 go run ./bench/second group
//	go run ./bench/second echo 50
//	go run ./bench/second echo 1000
//	go run ./bench/second http 64
//
// Both sides do the same work in turns, nine rounds each, and the figures are medians.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/socket"
)

const rounds = 9

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "second:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		args = []string{""}
	}
	switch args[0] {
	case "switch":
		n, err := number(args)
		if err != nil {
			return err
		}
		return compare(fmt.Sprintf("ns a switch among %d", n), taskSwitch(n), goroutineSwitch(n))
	case "group":
		return compare("ns a task of 100,000", taskGroup, goroutineGroup)
	case "echo":
		n, err := number(args)
		if err != nil {
			return err
		}
		return compare(fmt.Sprintf("ns of CPU a request, %d connections", n), served("rondo", n, exchange), served("net", n, exchange))
	case "http":
		n, err := number(args)
		if err != nil {
			return err
		}
		return compare(fmt.Sprintf("ns of CPU a request of HTTP, %d connections", n), served("httptask", n, get), served("net/http", n, get))
	case "serve":
		if len(args) < 2 {
			return errors.New("serve needs rondo, net, httptask or net/http")
		}
		return serve(args[1])
	}
	return fmt.Errorf("%q is no row: there are switch TASKS, group, echo CONNECTIONS and http CONNECTIONS", args[0])
}

// number is the second argument, of tasks or of connections.
func number(args []string) (int, error) {
	if len(args) < 2 {
		return 0, fmt.Errorf("%s needs a number", args[0])
	}
	n, err := strconv.Atoi(args[1])
	if err != nil || n < 1 || n > switches {
		return 0, fmt.Errorf("%s %s: write a number from 1 to %d", args[0], args[1], switches)
	}
	return n, nil
}

// compare prints the medians of both sides, which are measured in turns, and their ratio.
func compare(what string, rondo, rival func() (float64, error)) error {
	var a, b []float64
	for range rounds {
		x, err := rondo()
		if err != nil {
			return err
		}
		y, err := rival()
		if err != nil {
			return err
		}
		a, b = append(a, x), append(b, y)
	}
	slices.Sort(a)
	slices.Sort(b)
	x, y := a[rounds/2], b[rounds/2]
	fmt.Printf("%s: Rondo %.1f, goroutines %.1f, %.2fx\n", what, x, y, x/y)
	return nil
}

const switches = 1_000_000

func taskSwitch(tasks int) func() (float64, error) {
	laps := switches / tasks
	return func() (took float64, err error) {
		var began time.Time
		err = rondo.Run(context.Background(), func(ctx context.Context) error {
			begin := new(rondo.Event)
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				for range tasks {
					g.Go(func(ctx context.Context) error {
						if err := begin.Wait(ctx); err != nil {
							return err
						}
						for range laps {
							if err := rondo.Yield(ctx); err != nil {
								return err
							}
						}
						return nil
					})
				}
				if err := rondo.Sleep(g, 20*time.Millisecond); err != nil {
					return err
				}
				began = time.Now()
				begin.Set()
				return nil
			})
			took = float64(time.Since(began).Nanoseconds()) / float64(laps*tasks)
			return err
		})
		return took, err
	}
}

func goroutineSwitch(goroutines int) func() (float64, error) {
	laps := switches / goroutines
	return func() (float64, error) {
		begin := make(chan struct{})
		var all sync.WaitGroup
		for range goroutines {
			all.Add(1)
			go func() {
				defer all.Done()
				<-begin
				for range laps {
					runtime.Gosched()
				}
			}()
		}
		time.Sleep(20 * time.Millisecond)
		began := time.Now()
		close(begin)
		all.Wait()
		return float64(time.Since(began).Nanoseconds()) / float64(laps*goroutines), nil
	}
}

const many = 100_000

// taskGroup starts many tasks twice, and measures the second time: the first one made what the
// loop keeps.
func taskGroup() (took float64, err error) {
	err = rondo.Run(context.Background(), func(ctx context.Context) error {
		for range 2 {
			began := time.Now()
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				for range many {
					g.Go(func(context.Context) error { return nil })
				}
				return nil
			})
			if err != nil {
				return err
			}
			took = float64(time.Since(began).Nanoseconds()) / many
		}
		return nil
	})
	return took, err
}

func goroutineGroup() (took float64, err error) {
	for range 2 {
		began := time.Now()
		var all sync.WaitGroup
		for range many {
			all.Add(1)
			go func() { all.Done() }()
		}
		all.Wait()
		took = float64(time.Since(began).Nanoseconds()) / many
	}
	return took, nil
}

const requests = 200_000

// served measures the CPU time of a server in a process of its own, in the program and in the
// kernel. The server runs on the first CPU and its clients, which talk to it, on the second.
func served(kind string, conns int, talk func(address string, n int) error) func() (float64, error) {
	return func() (float64, error) {
		self, err := os.Executable()
		if err != nil {
			return 0, err
		}
		server := exec.Command(self, "serve", kind)
		server.Stderr = os.Stderr
		in, err := server.StdinPipe()
		if err != nil {
			return 0, err
		}
		out, err := server.StdoutPipe()
		if err != nil {
			return 0, err
		}
		if err := server.Start(); err != nil {
			return 0, err
		}
		failed := ask(out, conns, talk)
		in.Close() // it ends
		if err := errors.Join(failed, server.Wait()); err != nil {
			return 0, err
		}
		used := server.ProcessState.UserTime() + server.ProcessState.SystemTime()
		return float64(used.Nanoseconds()) / float64(requests/conns*conns), nil
	}
}

// ask reads the server's address, and has so many connections at once talk to it.
func ask(out io.Reader, conns int, talk func(address string, n int) error) error {
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err
	}
	if err := pin(1); err != nil {
		return err
	}
	failed := make(chan error, conns)
	for range conns {
		go func() { failed <- talk(strings.TrimSpace(address), requests/conns) }()
	}
	for range conns {
		err = errors.Join(err, <-failed)
	}
	return err
}

// exchange sends n requests of 64 bytes, one after the other.
func exchange(address string, n int) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	b := make([]byte, 64)
	for range n {
		if _, err := c.Write(b); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, b); err != nil {
			return err
		}
	}
	return nil
}

// get sends n requests of HTTP, one after the other.
func get(address string, n int) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for range n {
		if _, err := io.WriteString(c, "GET /greeting HTTP/1.1\r\nHost: second\r\n\r\n"); err != nil {
			return err
		}
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		if text, err := io.ReadAll(r.Body); err != nil || string(text) != greeting {
			return fmt.Errorf("the answer is %q: %w", text, err)
		}
	}
	return nil
}

const greeting = "good morning to all of you\n"

// pin keeps this process on one CPU, if there are two.
func pin(cpu int) error {
	if runtime.NumCPU() < 2 {
		return nil
	}
	var set unix.CPUSet
	set.Set(cpu)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(id, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("sched_setaffinity: %w", err)
		}
	}
	return nil
}

// serve serves until its standard input ends.
func serve(kind string) error {
	if err := pin(0); err != nil {
		return err
	}
	runtime.GOMAXPROCS(1)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	switch kind {
	case "httptask", "net/http":
		return serveHTTP(kind)
	case "net":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		for {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			go answer(c)
		}
	}
	return rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		return socket.Serve(ctx, l, func(_ context.Context, c net.Conn) error {
			answer(c)
			return nil
		})
	})
}

// serveHTTP greets.
func serveHTTP(kind string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /greeting", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, greeting) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	if kind == "net/http" {
		return http.Serve(l, mux)
	}
	return rondo.Run(context.Background(), func(ctx context.Context) error { return httptask.Serve(ctx, l, mux) })
}

// answer writes what it reads, until the client leaves.
func answer(c net.Conn) {
	defer c.Close()
	b := make([]byte, 64)
	for {
		n, err := c.Read(b)
		if err != nil {
			return
		}
		if _, err := c.Write(b[:n]); err != nil {
			return
		}
	}
}
