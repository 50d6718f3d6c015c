package main

// A child process runs part of a row, on one CPU. Each question is a
// line on the child's standard input, and each answer a line on its standard
// output. A child ends when its standard input ends, so none outlives this process.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hidden as the first argument makes this program a child.
const hidden = "-child"

// child runs the child that the arguments name. Only the rows pass them.
func child(args []string) error {
	if len(args) == 0 {
		return errors.New(hidden + " is for the rows only: run the program without it")
	}
	switch role := args[0]; role {
	case "serve":
		return serve(args[1:])
	case "load":
		return load(args[1:])
	case "hold":
		return hold(args[1:])
	case "target":
		return target(args[1:])
	case "nats-server":
		return natsServer()
	case "nats-peer":
		return natsPeer(args[1])
	case "nats-client":
		return natsClientChild(args[1:])
	case "tasks":
		return answer(tasksChild)
	case "simulate":
		return answer(simulateChild)
	case "million":
		return millionChild(args[1:])
	default:
		return fmt.Errorf("no child is called %q", role)
	}
}

// A process is a running child. Close ends it and waits for it.
type process struct {
	collects bool // "collect" makes it return its garbage to the system
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	errors   strings.Builder
}

// start starts a program on the given CPU.
func start(processor int, path string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(path, args...)}
	p.cmd.Stderr = &p.errors
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := startOn(processor, p.cmd); err != nil {
		return nil, err
	}
	return p, nil
}

// startSelf starts this program as a child.
func startSelf(processor int, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(processor, self, append([]string{hidden}, args...)...)
}

// everyProcessor stands for all CPUs.
const everyProcessor = -1

// startOn starts cmd on one CPU, or on all. The child inherits that from the thread that starts
// it, so it holds from the child's first instruction, and a Go program sets its
// GOMAXPROCS by it.
func startOn(processor int, cmd *exec.Cmd) error {
	if processor == everyProcessor {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, alone unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("sched_getaffinity: %w", err)
	}
	alone.Set(processor)
	if err := unix.SchedSetaffinity(0, &alone); err != nil {
		return fmt.Errorf("sched_setaffinity: %w", err)
	}
	err := cmd.Start()
	if back := unix.SchedSetaffinity(0, &before); back != nil {
		panic(back)
	}
	return err
}

// line reads the next line from the child.
func (p *process) line() (string, error) {
	s, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(p.cmd.Args, " "), err, p.errors.String())
	}
	return strings.TrimSpace(s), nil
}

// ask sends a line and reads the answer.
func (p *process) ask(question string) (string, error) {
	if _, err := io.WriteString(p.in, question+"\n"); err != nil {
		return "", err
	}
	return p.line()
}

// processorTime returns the CPU time that the child has used, in the program and in
// the kernel, in nanoseconds. Linux has a clock for each process, see
// clock_getcpuclockid(3).
func (p *process) processorTime() (int64, error) {
	const ofProcess = 2 // CPUCLOCK_SCHED
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^p.cmd.Process.Pid<<3|ofProcess), &t); err != nil {
		return 0, fmt.Errorf("clock_gettime of process %d: %w", p.cmd.Process.Pid, err)
	}
	return t.Nano(), nil
}

// memory returns the resident memory of the child in bytes, without the pages of files, which
// the system takes and gives as it likes: RssAnon in proc(5). Garbage must not count, so a Go
// program returns it to the system first.
func (p *process) memory() (float64, error) {
	if p.collects {
		if _, err := p.ask("collect"); err != nil {
			return 0, err
		}
	}
	path := fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "RssAnon:"); found {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("%s: no RssAnon", path)
}

// number is ask for an answer that is a number.
func (p *process) number(question string) (float64, error) {
	s, err := p.ask(question)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(s, 64)
}

// Close ends the child and returns how it ended.
func (p *process) Close() error {
	_ = p.resume() // one that has ended is waited for below
	p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(p.cmd.Args, " "), err, p.errors.String())
	}
	return nil
}

// pause stops the process, and resume lets it go on.
func (p *process) pause() error  { return p.cmd.Process.Signal(unix.SIGSTOP) }
func (p *process) resume() error { return p.cmd.Process.Signal(unix.SIGCONT) }

// processors returns two CPUs that this process may use: one for the server and one
// for its load.
func processors() (server, load int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 0, 0, fmt.Errorf("sched_getaffinity: %w", err)
	}
	var found []int
	for i := 0; i < 8*len(set)*8 && len(found) < 2; i++ {
		if set.IsSet(i) {
			found = append(found, i)
		}
	}
	if len(found) < 2 {
		return 0, 0, missing("The rows with processes are missing: they need two CPUs.")
	}
	return found[0], found[1], nil
}

// answer answers the questions on standard input until it ends.
func answer(reply func(question string) (string, error)) error {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		s, err := reply(in.Text())
		if err != nil {
			return err
		}
		if _, err := fmt.Println(s); err != nil {
			return err
		}
	}
	return in.Err()
}

// processorTime returns the CPU time that this process has used, in the program and
// in the kernel.
func processorTime() (int64, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return u.Utime.Nano() + u.Stime.Nano(), nil
}
