//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// inCore returns the only loop of a core.
func inCore(t *testing.T, name, exe string) *inspect.Loop {
	t.Helper()
	target, err := inspect.OpenCore(name, exe)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	}()
	p := shot(t, target, inspect.Options{Stacks: true})
	if len(p.Loops) != 1 || p.PID != 0 || p.Go != runtime.Version() {
		t.Fatalf("%d loops in process %d of %s; want one, in a core", len(p.Loops), p.PID, p.Go)
	}
	return p.Loops[0]
}

// cored copies the plain target to where the test may take it away, lets it come
// to what a test waits for, and returns its path and that of its core.
func cored(t *testing.T, mode string, wanted func(l *inspect.Loop) bool) (exe, core string) {
	t.Helper()
	return coredBy(kernel, t, mode, wanted)
}

func coredBy(by dumper, t *testing.T, mode string, wanted func(l *inspect.Loop) bool) (exe, core string) {
	t.Helper()
	dir := t.TempDir()
	exe, core = filepath.Join(dir, "target"), filepath.Join(dir, "core")
	content, err := os.ReadFile(plain.program(t))
	if err != nil {
		t.Fatal(err)
	}
	// What another test starts meanwhile would have the file open for writing.
	syscall.ForkLock.RLock()
	err = os.WriteFile(exe, content, 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, exe, mode)
	until(t, open(t, p), "what the core is to show", wanted)
	dump(by, t, p.Process.Pid, core)
	p.end()
	return exe, core
}

// TestCore: a core shows what the process showed.
func TestCore(t *testing.T) {
	t.Parallel()
	exe, core := cored(t, "waits", settled)
	check := func(exe string) {
		l := inCore(t, core, exe)
		if !l.Exact || len(l.Tasks) != 11 {
			t.Fatalf("exact %v, %d tasks; want an exact snapshot of 11", l.Exact, len(l.Tasks))
		}
		checkWaits(t, l)
		for _, k := range l.Tasks {
			checkStack(t, k)
		}
	}
	check("")
	check(exe)

	moved := exe + ".moved"
	if err := os.Rename(exe, moved); err != nil {
		t.Fatal(err)
	}
	check(moved)
	_, err := inspect.OpenCore(core, "")
	refused(t, err, core, exe, "name the program's file")
	_, err = inspect.OpenCore(core, exe)
	refused(t, err, exe, "no such file")

	// Another program, also as what stands where the program was.
	other := builds[1].program(t)
	_, err = inspect.OpenCore(core, other)
	refused(t, err, other, "is not the program of", core, exe)
	content, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(exe, content, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = inspect.OpenCore(core, "")
	refused(t, err, exe, "no longer the program of", core)

}

// TestCutCore: of a core that is shorter than its headers say there is no picture, wherever it is
// cut, and whatever the part says that is there. Each part is whole up to where it ends.
func TestCutCore(t *testing.T) {
	t.Parallel()
	exe, core := cored(t, "waits", settled)
	info, err := os.Stat(core)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int64
	for percent := range int64(100) {
		sizes = append(sizes, info.Size()*percent/100)
	}
	sizes = append(sizes, 10, 63, 64, 100, 500, 3000, 5000, 20_000, 100_000, info.Size()-pageSize, info.Size()-1)
	slices.Sort(sizes)
	slices.Reverse(sizes)
	for _, size := range sizes { // the longest first, since what was cut off is gone
		if err := os.Truncate(core, size); err != nil {
			t.Fatal(err)
		}
		want := "is cut: it has " + strconv.FormatInt(size, 10) + " of the "
		if size < 4 {
			want = "is not an ELF core file"
		}
		_, err := inspect.OpenCore(core, exe)
		refused(t, err, core, want)
	}
}

// TestCoreOfGcore: of a core that lacks what is mapped of the program read-only, and
// perhaps even the file's first page, that is read from the file, if it is the one
// that ran.
func TestCoreOfGcore(t *testing.T) {
	t.Parallel()
	for _, by := range []dumper{gcore, headless} {
		exe, core := coredBy(by, t, "waits", settled)
		l := inCore(t, core, "")
		if len(l.Tasks) != 11 {
			t.Fatalf("%d tasks; want 11", len(l.Tasks))
		}
		for _, k := range l.Tasks {
			checkStack(t, k)
		}
		other := build{name: "lean", flags: []string{"-tags=lean"}}.program(t)
		_, err := inspect.OpenCore(core, other)
		refused(t, err, other, "is not the program of", core, exe)
	}
}

// TestCoreOpensNothing: whatever a core names as its program, only a regular file
// is opened and read.
func TestCoreOpensNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "pipe\x1b[31m")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{fifo: "pipe?[31m is not a regular file", "/dev/zero": "not a regular file", "/nowhere/\x1b": "/nowhere/?: no such file"} {
		// A core of a program of 64 TiB, of which it has nothing.
		const start, size = 0x400000, 1 << 46
		var notes, head bytes.Buffer
		note(&notes, 0x46494c45, words([]uint64{1, pageSize, start, start + size, 0}), append([]byte(path), 0))
		head.WriteString("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9))
		head.Write(words([]uint16{4, 62}))
		head.Write(words([]uint32{1}))
		head.Write(words([]uint64{0, 64, 0}))
		head.Write(words([]uint32{0}))
		head.Write(words([]uint16{64, 56, 2, 64, 0, 0}))
		at := uint64(64 + 2*56)
		for _, s := range [][]uint64{{4, 0, at, 0, uint64(notes.Len()), 0}, {1, 6, at, start, 0, size}} {
			head.Write(words([]uint32{uint32(s[0]), uint32(s[1])}))
			head.Write(words([]uint64{s[2], s[3], s[3], s[4], s[5], 1}))
		}
		core := filepath.Join(dir, "core")
		if err := os.WriteFile(core, append(head.Bytes(), notes.Bytes()...), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := inspect.OpenCore(core, "")
		refused(t, err, core, "lacks the code of its program", want)
		if _, err = inspect.OpenCore(fifo, ""); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("a pipe for a core: %v", err)
		}
		// With a small file for the program there is an answer too.
		small := filepath.Join(dir, "small")
		if err := os.WriteFile(small, make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = inspect.OpenCore(core, small)
		refused(t, err, small, "is not the program of", core)
	}
}

// TestCoreOfRunning: where a task was that computed when the core was written is
// known from the registers of its thread.
func TestCoreOfRunning(t *testing.T) {
	t.Parallel()
	_, core := cored(t, "spun", func(l *inspect.Loop) bool { return l.Held != nil })
	checkCulprit(t, inCore(t, core, ""))
}

func checkCulprit(t *testing.T, l *inspect.Loop) {
	t.Helper()
	culprit := task(t, l, "culprit")
	own := inspect.Own(culprit.Stack)
	// The line above says that it spins, and may not have ended when the program crashes.
	first, last := line(t, "the hang")-1, line(t, "the hang")+1
	if l.Running != culprit.ID || culprit.State != "running" || len(own) == 0 || own[0].Func != "main.spin" ||
		own[0].Line < first || own[0].Line > last || culprit.Cut {
		t.Errorf("culprit is %s on thread %d at %v; want it in spin", culprit.State, culprit.Thread, culprit.Stack)
	}
}

// TestCoreOfCrash reads the kernel's own core of a program that a signal has
// killed; the running task was in the signal's handler. It needs a machine that
// puts cores into the working folder.
func TestCoreOfCrash(t *testing.T) {
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil {
		t.Fatal(err)
	}
	if p := strings.TrimSpace(string(pattern)); strings.ContainsAny(p, "|/%") || p == "" {
		t.Logf("this machine puts cores elsewhere: %s", p)
		return
	}
	// The handler's stack differs if the C library has set the handler.
	for _, b := range []build{plain, {name: "without C", flags: []string{"-tags=lean"}, env: "CGO_ENABLED=0"}} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			l := inCore(t, crashed(t, b.program(t)), "")
			checkCulprit(t, l)
			if sleeper := task(t, l, "sleeper"); len(inspect.Own(sleeper.Stack)) != 6 {
				t.Errorf("sleeper stands at %v", sleeper.Stack)
			}
		})
	}
}

// crashed runs the target until it crashes, and returns the core.
func crashed(t *testing.T, path string) string {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command("sh", "-c", `ulimit -c unlimited; exec "$@"`, "sh", path, "crash")
	c.Dir = dir
	c.Env = append(os.Environ(), "GOTRACEBACK=crash")
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if out, err := c.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("SIGABRT")) {
		t.Fatalf("it did not crash: %v\n%s", err, out)
	}
	cores, err := filepath.Glob(filepath.Join(dir, "core*"))
	if err != nil || len(cores) != 1 {
		t.Fatalf("cores %q, %v; want one", cores, err)
	}
	return cores[0]
}

// TestNoCore: files that are not cores.
func TestNoCore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no core\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, word := range map[string]string{
		filepath.Join(dir, "nothing"): "no such file", dir: "is not a regular file", text: "is not an ELF core file", plain.program(t): "is not an ELF core file",
	} {
		_, err := inspect.OpenCore(name, "")
		refused(t, err, name, word)
	}
}

// TestCoreDamage damages what a core says of itself: its headers and its notes.
// The result is a snapshot or an error of one sentence.
func TestCoreDamage(t *testing.T) {
	t.Parallel()
	exe, core := cored(t, "spin", func(l *inspect.Loop) bool { return l.Held != nil })
	file, err := os.OpenFile(core, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	whole := make([]byte, 16<<10)
	if _, err := file.ReadAt(whole, 0); err != nil {
		t.Fatal(err)
	}
	rounds := 150
	if testing.Short() || underRace {
		rounds = 40
	}
	hung := time.AfterFunc(5*patience, func() { panic("the reader hangs") })
	defer hung.Stop()
	r := rand.New(rand.NewPCG(3, 4))
	opened := 0
	for range rounds {
		b := bytes.Clone(whole)
		for range 1 + r.IntN(6) {
			at := r.IntN(len(b) / 8)
			if r.IntN(2) == 0 {
				at = r.IntN(400) // of the first headers
			}
			switch word := b[8*at : 8*at+8]; r.IntN(5) {
			case 0:
				word[r.IntN(8)] ^= 1 << r.IntN(8)
			case 1:
				binary.LittleEndian.PutUint64(word, r.Uint64()>>r.IntN(64))
			case 2:
				binary.LittleEndian.PutUint64(word, ^uint64(0))
			case 3:
				copy(word, b[8*r.IntN(len(b)/8):])
			case 4:
				clear(word)
			}
		}
		if _, err := file.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
		target, err := inspect.OpenCore(core, exe)
		if err != nil {
			refused(t, err)
			continue
		}
		opened++
		if p, err := target.Snapshot(inspect.Options{Stacks: true}); err == nil {
			_ = p.WriteTree(io.Discard, inspect.TreeOptions{Full: true})
		}
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	}
	if opened == 0 || opened == rounds {
		t.Errorf("%d of %d damaged cores were opened; some should be, and some not", opened, rounds)
	}
}
