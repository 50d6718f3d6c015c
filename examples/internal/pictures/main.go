//go:build linux

// Command pictures draws what rondo tree and rondo top show of the tutorial's chat, as
// docs/img/tree.svg and docs/img/top.svg, and as a film of 20 seconds, docs/img/film.svg. Run it
// in the root of the project:
//
//	go run ./examples/internal/pictures
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/examples/internal/look"
)

func main() {
	if err := pictures(context.Background(), filepath.Join("docs", "img")); err != nil {
		log.Fatal(err)
	}
}

// path is the part of a file's name that depends on the machine.
var path = regexp.MustCompile(`\S*/(examples/|src/)`)

// pictures draws both into a folder.
func pictures(ctx context.Context, to string) error {
	dir, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	chat, err := look.Open(ctx, dir, "github.com/rondo-go/rondo/examples/tutorial/step8", "ann", "bob")
	if err != nil {
		return err
	}
	defer chat.Close()
	talk, done := context.WithCancel(ctx)
	defer done()
	say := func(after time.Duration, who io.Writer, text string, pause time.Duration) {
		time.Sleep(after)
		for talk.Err() == nil {
			fmt.Fprintln(who, text)
			time.Sleep(pause)
		}
	}
	go say(0, chat.Members[0], "hello", 200*time.Millisecond)
	go say(5*time.Second, chat.Members[1], "hello, ann", 20*time.Millisecond)
	top, shots, err := record(chat.Rondo(ctx, "top"), 11*time.Second)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "top.svg"), []byte(draw("rondo top of a chat with two members", top.lines())), 0o644); err != nil {
		return err
	}
	done()
	tree, err := chat.Rondo(ctx, "tree").CombinedOutput()
	if err != nil {
		return fmt.Errorf("rondo tree: %w\n%s", err, tree)
	}
	text := path.ReplaceAllString(string(tree), "$1")
	film := slices.Concat([]shot{typed("rondo top $(pidof chat)")}, shots, []shot{typed("rondo tree $(pidof chat)"), {plain(text), 6 * time.Second}})
	title := "rondo top of a chat with two members for ten seconds, then rondo tree of it"
	if err := os.WriteFile(filepath.Join(to, "film.svg"), []byte(project(title, film)), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "tree.svg"), []byte(draw("rondo tree of a chat with two members", plain(text))), 0o644)
}

// typed is a command that somebody has typed.
func typed(command string) shot { return shot{plain("$ " + command), 1500 * time.Millisecond} }

// record runs a command on a terminal for some time, and returns what it shows then, and what it
// has shown.
func record(c *exec.Cmd, length time.Duration) (*screen, []shot, error) {
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer person.Close()
	fd := int(person.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	c.Stdin, c.Stdout, c.Stderr = terminal, terminal, terminal
	c.Env = append(os.Environ(), "TERM=xterm-256color")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = c.Start()
	terminal.Close()
	if err != nil {
		return nil, nil, err
	}
	time.AfterFunc(length, func() { _ = c.Process.Kill() }) // as it is, without what it cleans up
	s, rest, film := new(screen), []rune(nil), new(camera)
	for buf := make([]byte, 1<<16); ; {
		n, err := person.Read(buf)
		rest = append(rest, []rune(string(buf[:n]))...)
		rest = rest[s.write(rest):]
		if n > 0 {
			film.see(s.lines(), time.Now())
		}
		if err != nil {
			break // nobody has the other side open
		}
	}
	_ = c.Wait() // it was killed
	return s, film.end(time.Now()), nil
}
