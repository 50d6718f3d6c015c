package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo-terminal that is so wide: the person's side of it,
// and the command's.
func openTerminal(t *testing.T, width uint16) (person, command *os.File) {
	t.Helper()
	open := func(name string) *os.File {
		f, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	person = open("/dev/ptmx")
	raw, err := person.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	failed := raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err != nil {
			return
		}
		if err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width}); err != nil {
			return
		}
		number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
	})
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return person, open(fmt.Sprintf("/dev/pts/%d", number))
}

// On a terminal the progress is one line, which is gone when the summary comes,
// and with it what the terminal shows for Ctrl-C.
func TestDemoOnTerminal(t *testing.T) {
	const width = 100
	person, command := openTerminal(t, width)
	c := exec.CommandContext(t.Context(), os.Args[0], "demo", "--conns", "5", "--for", "1h")
	c.Env = append(os.Environ(), asCommand+"=1", "TERM=xterm")
	c.Stdin, c.Stdout, c.Stderr = command, command, command
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	command.Close()
	var shown strings.Builder
	lines := func() []string { return terminalText(strings.ReplaceAll(shown.String(), "\r\n", "\n"), width) }
	typed := false
	for buf := make([]byte, 4096); ; {
		n, err := person.Read(buf)
		shown.Write(buf[:n])
		// Reading fails when nobody has the other side open.
		if err != nil {
			break
		}
		if last := lines(); !typed && strings.Contains(last[len(last)-1], "messages/s") {
			typed = true
			if !strings.HasPrefix(last[len(last)-1], "  ─────") || len(last) != 3 {
				t.Errorf("the terminal shows\n%s", strings.Join(last, "\n"))
			}
			if _, err := person.WriteString("\x03"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Wait(); err != nil || !typed {
		t.Errorf("it ended with %v", err)
	}
	last := lines()
	if want := "5 clients and a server, on one loop, over TCP. Ctrl-C ends it early."; len(last) < 4 || last[0] != want || last[1] != "" ||
		!strings.HasPrefix(last[2], "5 clients talked for ") || !strings.HasSuffix(last[2], " until Ctrl-C ended it.") {
		t.Errorf("the terminal shows\n%s", strings.Join(last, "\n"))
	}
	if all := strings.Join(last, "\n"); strings.Contains(all, "messages/s") || strings.Contains(all, "^C") || strings.Contains(shown.String(), "\x1b") {
		t.Errorf("the terminal shows\n%s", all)
	}
}

// TestTraceTyped: what is typed at the terminal reaches the program that is traced once, also if
// the input is a pipe.
func TestTraceTyped(t *testing.T) {
	person, command := openTerminal(t, 100)
	const program = `sleep 600 & trap 'echo got' INT; trap 'echo end; kill $!; exit' TERM; echo ready; while :; do wait; done`
	c := exec.CommandContext(t.Context(), os.Args[0], "trace", filepath.Join(t.TempDir(), "trace.json"), "--", "sh", "-c", program)
	c.Env = append(os.Environ(), asCommand+"=1")
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(""), command, command
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	command.Close()
	typed, got := 0, 0
	for lines := bufio.NewScanner(person); lines.Scan(); { // it fails when nobody has the other side open
		var err error
		if strings.HasSuffix(lines.Text(), "got") {
			got++
		}
		switch {
		case got == 5:
			err = c.Process.Signal(syscall.SIGTERM) // it is passed on after what came before
		case got == typed:
			typed++
			_, err = person.WriteString("\x03")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = c.Wait() // it fails because the shell has no loop
	if got != 5 || typed != 5 {
		t.Errorf("Ctrl-C was typed %d times, and came %d times", typed, got)
	}
}
