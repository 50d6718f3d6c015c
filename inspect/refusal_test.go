//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo/inspect"
	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// refused fails the test unless err is one sentence with all of the words in it.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("it was opened; want an error with %q", words)
		return
	}
	for _, w := range append(words, "") {
		if !strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q; want one sentence with %q", err, words)
			return
		}
	}
}

// pidWords are what every refusal of a process says.
func pidWords(pid int, words ...string) []string { return append(words, "process "+strconv.Itoa(pid)) }

func TestNoProcess(t *testing.T) {
	for _, pid := range []int{0, -1} {
		_, err := inspect.OpenProcess(pid)
		refused(t, err, fmt.Sprintf("%d is not a process id", pid))
	}
	c := exec.Command("true")
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	_, err := inspect.OpenProcess(c.Process.Pid)
	refused(t, err, pidWords(c.Process.Pid, "there is no", "PID namespace")...)
}

// TestZombie: a process that has ended and was not waited for.
func TestZombie(t *testing.T) {
	c := exec.Command("true")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Wait() }()
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(stat, []byte(") Z ")) {
			break
		}
	}
	_, err := inspect.OpenProcess(c.Process.Pid)
	refused(t, err, pidWords(c.Process.Pid, "no memory")...)
}

// TestKernelThread: the second process of a system, outside a PID namespace, is
// the parent of the kernel's threads.
func TestKernelThread(t *testing.T) {
	if name, _ := os.ReadFile("/proc/2/comm"); string(name) != "kthreadd\n" {
		t.Log("no kernel threads are to be seen here")
		return
	}
	_, err := inspect.OpenProcess(2)
	if os.Geteuid() == 0 {
		refused(t, err, "process 2", "kernel thread")
	} else {
		refused(t, err, "process 2")
	}
}

// outsider is set in a process that this test program starts as another user: to
// the process that it has to open.
const outsider = "RONDO_INSPECT_PID"

// TestNotAllowed opens a process of root's as somebody else.
func TestNotAllowed(t *testing.T) {
	if pid, err := strconv.Atoi(os.Getenv(outsider)); err == nil {
		_, err := inspect.OpenProcess(pid)
		fmt.Printf("it says: %v\n", err)
		return
	}
	if os.Geteuid() != 0 {
		// The first process mostly belongs to root.
		if err := syscall.Kill(1, 0); err != syscall.EPERM {
			t.Logf("process 1 belongs to this user, or there is none: %v", err)
			return
		}
		_, err := inspect.OpenProcess(1)
		refused(t, err, "process 1", "run as that user or as root")
		return
	}
	p := start(t, plain.program(t), "idle")
	// The name of this program's file may lie where the other may not look.
	c := exec.Command("/proc/self/exe", "-test.run=^TestNotAllowed$")
	c.Dir = "/"
	c.Env = append(os.Environ(), outsider+"="+strconv.Itoa(p.Process.Pid))
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, said, _ := strings.Cut(string(out), "it says: ")
	said, _, _ = strings.Cut(said, "\n")
	refused(t, fmt.Errorf("%s", said), pidWords(p.Process.Pid, "belongs to ", "run as that user or as root")...)
}

// TestOtherPrograms: one in C, and one in Go without Rondo.
func TestOtherPrograms(t *testing.T) {
	t.Parallel()
	c := exec.Command("sh", "-c", "echo ready; read line")
	p := run(t, c)
	_, err := inspect.OpenProcess(p.Process.Pid)
	refused(t, err, pidWords(p.Process.Pid, "no Rondo in it", "not a Go program")...)

	path := filepath.Join(t.TempDir(), "bare")
	if out, err := exec.Command("go", "build", "-o", path, "./testdata/bare").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p = start(t, path)
	_, err = open(t, p).Snapshot(inspect.Options{Stacks: true})
	refused(t, err, pidWords(p.Process.Pid, "no Rondo in it")...)
	if strings.Contains(err.Error(), "not a Go program") {
		t.Errorf("%q; and yet it is one", err)
	}
}

// TestRefusedMemory: a program for a 32-bit processor is refused as that, also if there is Rondo in
// it; one whose Rondo is newer than the reader; and one that says its records are larger than any
// can be, or have no size, for which a reader would take gigabytes. What looks like the table of
// records, and leads to no code, is none.
func TestRefusedMemory(t *testing.T) {
	t.Parallel()
	i := recorded(t)
	headers := i.find([]byte("\x7fELF\x02"), pageSize)
	tables := i.find(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, layout.Cookie0), layout.Cookie1), 1)
	number := func(n uint16) []byte { return binary.LittleEndian.AppendUint16(nil, n) }
	offset := func(of int) uint64 { return layout.AtOffsets + 2*uint64(of) }
	damaged := []string{"is damaged", "how Rondo's records are laid out"}
	for _, lie := range []struct {
		places []uint64
		at     uint64
		bytes  []byte
		words  []string
	}{
		{headers, 4, []byte{1}, []string{"cannot be read", "a 32-bit program"}},
		{tables, layout.AtVersion, number(layout.Version + 1), []string{"newer Rondo", "update the tool"}},
		{tables, offset(layout.TaskSize), number(65528), damaged},
		{tables, offset(layout.WorkerSize), number(2000), damaged},
		{tables, offset(layout.ListSize), number(0), damaged},
		{tables, offset(layout.LoopName), number(65528), damaged},
		{tables, layout.AtMarker, binary.LittleEndian.AppendUint64(nil, 8), []string{"has no Rondo in it"}},
	} {
		d := damage(i, nil)
		for _, place := range lie.places {
			d.put(place+lie.at, lie.bytes)
		}
		target, err := inspect.OpenMemory(d)
		if err == nil {
			_, err = target.Snapshot(inspect.Options{})
		}
		refused(t, err, lie.words...)
	}
}

// TestEnded: a process that ends between two snapshots.
func TestEnded(t *testing.T) {
	t.Parallel()
	p := start(t, plain.program(t), "idle")
	target := open(t, p)
	if _, err := target.Snapshot(inspect.Options{Stacks: true}); err != nil {
		t.Fatal(err)
	}
	p.end()
	_, err := target.Snapshot(inspect.Options{Stacks: true})
	refused(t, err, pidWords(p.Process.Pid, "has ended")...)
	if !errors.Is(err, os.ErrProcessDone) || errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v: want os.ErrProcessDone", err)
	}
}

// TestReplaced: a process that becomes another program between two snapshots.
func TestReplaced(t *testing.T) {
	t.Parallel()
	p := start(t, plain.program(t), "idle", "replaced")
	target := open(t, p)
	_ = p.stdin.Close()
	for {
		picture, err := target.Snapshot(inspect.Options{Stacks: true})
		if err == nil && len(picture.Loops) == 1 && len(picture.Loops[0].Tasks) == 1 {
			continue
		}
		refused(t, err, pidWords(p.Process.Pid, "another program")...)
		if !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%v: want os.ErrProcessDone", err)
		}
		return
	}
}

// vanishing is a program that ends when it has been read so often.
type vanishing struct {
	*image
	left int
}

var errVanished = errors.New("gone")

func (v *vanishing) Read(addr uint64, b []byte) error {
	if v.left--; v.left < 0 {
		return errVanished
	}
	return v.image.Read(addr, b)
}

func (v *vanishing) ReadMany(requests []goinspect.Request) { readEach(v.Read, requests) }

func (v *vanishing) Check() error {
	if v.left < 0 {
		return goinspect.ErrEnded
	}
	return nil
}

// TestEndsMeanwhile: of a program that ends while it is read there is no snapshot,
// whenever it ends.
func TestEndsMeanwhile(t *testing.T) {
	t.Parallel()
	i := recorded(t)
	pictures, refusals := 0, 0
	for reads := 1; pictures == 0; reads += 1 + reads/8 {
		target, err := inspect.OpenMemory(&vanishing{i, reads})
		if err == nil {
			var p *inspect.Program
			if p, err = target.Snapshot(inspect.Options{Stacks: true}); err == nil {
				pictures++
				if len(p.Loops) != 1 || len(p.Loops[0].Tasks) != len(waits) {
					t.Errorf("after %d reads it has %d loops", reads, len(p.Loops))
				}
				continue
			}
		}
		refusals++
		if !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("after %d reads: %v; want os.ErrProcessDone", reads, err)
		}
	}
	if refusals < 20 {
		t.Errorf("it ended %d times meanwhile", refusals)
	}
}

// TestStopped: a stopped process is said to be that, whatever its loop did.
func TestStopped(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"idle", "spin"} {
		p := start(t, plain.program(t), mode)
		target := open(t, p)
		until(t, target, "a loop in its mode", func(l *inspect.Loop) bool { return mode == "idle" && settled(l) || l.Held != nil })
		if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		cure := fmt.Sprintf("kill -CONT %d", p.Process.Pid)
		for {
			picture := shot(t, target, inspect.Options{})
			if !picture.Stopped {
				continue // The signal has not come yet.
			}
			held := picture.Loops[0].Held
			if (mode == "spin") != (held != nil) || held != nil && (held.How != "stopped" || !strings.Contains(held.Advice, cure)) {
				t.Errorf("%s: held %+v; want that the process is stopped", mode, held)
			}
			var text strings.Builder
			if err := picture.WriteTree(&text, inspect.TreeOptions{}); err != nil || !strings.Contains(text.String(), "\nSTOPPED: its process is stopped") {
				t.Errorf("%v; the tree does not say that it is stopped:\n%s", err, text.String())
			}
			break
		}
	}
}

// TestForeignProc: in a PID namespace with the /proc of another, a number there is not
// the process that has it here, so nothing is read.
func TestForeignProc(t *testing.T) {
	const inside = "RONDO_TEST_FOREIGN_PROC"
	if os.Getenv(inside) != "" {
		_, err := inspect.OpenProcess(1)
		refused(t, err, "/proc is that of another PID namespace", "mount -t proc proc /proc")
		return
	}
	c := exec.Command(os.Args[0], "-test.run", "^TestForeignProc$")
	c.Env = append(os.Environ(), inside+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID}
	switch out, err := c.CombinedOutput(); {
	case errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.ENOSPC):
		t.Log("this system lets nobody make namespaces, so only this one was tried:", err)
		if _, err := inspect.OpenProcess(1 << 30); err == nil || strings.Contains(err.Error(), "/proc is") {
			t.Errorf("in the namespace of /proc: %v", err)
		}
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	}
}
