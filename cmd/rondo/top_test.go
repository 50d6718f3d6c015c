//go:build linux && (amd64 || arm64)

package main

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"
)

// A seat is a person before a terminal on which the command runs.
type seat struct {
	t      *testing.T
	person *os.File
	mu     sync.Mutex
	shown  strings.Builder // since the last key
	closed chan struct{}   // when nobody has the other side open
}

// sit starts the command on a terminal of 24 lines.
func sit(t *testing.T, args ...string) (*seat, *exec.Cmd) {
	t.Helper()
	person, command := openTerminal(t, 100)
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), asCommand+"=1", "TERM=xterm-256color")
	c.Stdin, c.Stdout, c.Stderr = command, command, command
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	command.Close()
	s := &seat{t: t, person: person, closed: make(chan struct{})}
	go func() {
		defer close(s.closed)
		for buf := make([]byte, 4096); ; {
			n, err := person.Read(buf)
			s.mu.Lock()
			s.shown.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s, c
}

func (s *seat) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ansi.Strip(s.shown.String())
}

// types presses keys.
func (s *seat) types(keys string) {
	s.t.Helper()
	s.mu.Lock()
	s.shown.Reset()
	s.mu.Unlock()
	if _, err := s.person.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// sees waits until the terminal shows a text. It changes the size of the terminal
// now and then: then all of the screen is written, and not what has changed.
func (s *seat) sees(text string) {
	s.t.Helper()
	pause := time.NewTicker(200 * time.Millisecond)
	defer pause.Stop()
	late := time.After(time.Minute)
	for width := uint16(100); !strings.Contains(s.text(), text); width ^= 1 {
		if err := unix.IoctlSetWinsize(int(s.person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width}); err != nil {
			s.t.Fatal(err)
		}
		select {
		case <-pause.C:
		case <-s.closed:
			s.t.Fatalf("the command ended and did not show %q; it wrote\n%s", text, s.text())
		case <-late:
			s.t.Fatalf("the command does not show %q; it wrote\n%s", text, s.text())
		}
	}
}

// TestTop: a person looks at a process, looks for a task, at its stack, sees the
// process end, and quits.
func TestTop(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "waits")
	s, c := sit(t, "top", "--every", "100ms", p.pid())
	s.sees("process " + p.pid() + ", go")
	s.sees("offloader")
	s.types("/sleeper")
	s.sees("/sleeper_")
	s.types("\r")
	s.sees("sleeper")
	s.types("\r")
	s.sees("main.deep")
	if strings.Contains(s.text(), "rondo.Sleep") {
		t.Errorf("calls of Rondo before they are asked for:\n%s", s.text())
	}
	s.types("f")
	s.sees("rondo.Sleep")
	s.types("\x1b") // Escape
	s.sees("/sleeper  2 of ")
	s.types("\x1b[D") // left
	s.sees(" ago, at ")
	s.types("n")
	p.end()
	s.sees("Process " + p.pid() + " has ended")
	s.sees("sleeper")
	s.types("q")
	<-s.closed
	if err := c.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := s.shown.String(); !strings.Contains(left, ansi.ResetModeAltScreenSaveCursor) {
		t.Errorf("the terminal is not as it was; it wrote %q", left)
	}
}

// Where there is no terminal, it says what to use.
func TestTopNeedsTerminal(t *testing.T) {
	status, out, err := invoke("top", "4711")
	if want := "rondo top: this is not a terminal; rondo ps 4711 writes the tasks once\n"; status != exitFailed || out != "" || err != want {
		t.Errorf("status %d, output %q, error %q, want %q", status, out, err, want)
	}
}

// A process that cannot be read is reported before the screen is taken.
func TestTopOfNothing(t *testing.T) {
	s, c := sit(t, "top", "999999999")
	<-s.closed
	_ = c.Wait()
	if got := s.text(); c.ProcessState.ExitCode() != exitFailed || !strings.HasPrefix(got, "rondo top: ") || strings.Count(got, "\n") != 1 {
		t.Errorf("%v, it wrote %q", c.ProcessState, got)
	}
}
