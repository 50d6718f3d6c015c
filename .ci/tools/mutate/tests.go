package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// program is the compiled tests of one package.
type program struct {
	path, binary, dir string
	tests             []test        // the quickest first
	start             time.Duration // what a run takes that is not a test's
}

// test is a run of one test without a mutant: how long it takes beyond the program's start, and
// which mutants it reaches.
type test struct {
	name    string
	took    time.Duration
	reaches []byte // 1 at the number of a mutant
	output  []byte
	err     error
}

// batch is some tests of a program that run in one process.
type batch struct {
	*program
	names []string
	took  time.Duration
}

// verdict is what became of a mutant.
type verdict struct{ word, by string }

// compile builds the tests of each package.
func compile(scratch, overlay string, paths []string) ([]*program, error) {
	var all []*program
	for i, path := range paths {
		p := &program{path: path, binary: filepath.Join(scratch, fmt.Sprintf("%d.test", i))}
		dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", path).Output()
		if err != nil {
			return nil, fmt.Errorf("go list %s: %w", path, err)
		}
		p.dir = strings.TrimSpace(string(dir))
		build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", p.binary, path)
		if output, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go test -c %s: %w\n%s", path, err, output)
		}
		if _, err := os.Stat(p.binary); err == nil { // else without tests
			all = append(all, p)
		}
	}
	return all, nil
}

// measure runs each test alone, as many at once as later. Tests that fail without a mutant, as
// those of allocations may in code that asks at each place, are left out.
func measure(scratch string, programs []*program, mutants, parallel int) error {
	for i, p := range programs {
		list := exec.Command(p.binary, "-test.list", "^(Test|Example|Fuzz)")
		list.Dir = p.dir
		output, err := list.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
		names := strings.Fields(string(output))
		var left []test
		try := func(j int) test {
			return p.alone(names[j], filepath.Join(scratch, fmt.Sprintf("%d.%d.reached", i, j)), mutants)
		}
		inOrder(len(names), parallel, try, func(_ int, t test) {
			if t.err == nil {
				p.tests = append(p.tests, t)
				return
			}
			left = append(left, t)
			fmt.Printf("%s: left out, because it fails without a mutant: %s\n", p.path, t.name)
		})
		if len(p.tests) == 0 && len(left) > 0 {
			return fmt.Errorf("no test of %s passes: %w\n%s", p.path, left[0].err, left[0].output)
		}
		slices.SortStableFunc(p.tests, func(a, b test) int { return cmp.Compare(a.took, b.took) })
		if len(p.tests) > 0 {
			p.start = p.tests[0].took
		}
		for i := range p.tests {
			p.tests[i].took -= p.start
		}
	}
	return nil
}

// alone runs one test without a mutant.
func (p *program) alone(name, file string, mutants int) test {
	t := test{name: name}
	if t.err = os.WriteFile(file, make([]byte, mutants+1), 0o666); t.err != nil {
		return t
	}
	started := time.Now()
	t.output, t.err = p.run(10*time.Minute, "RONDO_REACHED="+file, t.name)
	t.took = time.Since(started)
	if t.err == nil {
		t.reaches, t.err = os.ReadFile(file)
	}
	return t
}

// judge runs the tests that reach a mutant.
func judge(programs []*program, id int) verdict {
	batches := reaching(programs, id)
	if len(batches) == 0 {
		return verdict{"survived", "(no test reaches it)"}
	}
	for _, b := range batches {
		if v := b.try(id, b.took); v.word != "survived" {
			return v
		}
	}
	return verdict{word: "survived"}
}

// reaching returns the tests that reach a mutant, of all programs: a few quick ones, so that an
// endless one is found soon, and then more at once.
func reaching(programs []*program, id int) []*batch {
	var all []*batch
	left := make([][]test, len(programs))
	for i, p := range programs {
		left[i] = slices.DeleteFunc(slices.Clone(p.tests), func(t test) bool { return t.reaches[id] == 0 })
	}
	for least := 200 * time.Millisecond; ; least *= 6 {
		before := len(all)
		for i, p := range programs {
			b := &batch{program: p, took: p.start}
			for len(left[i]) > 0 && b.took < p.start+least {
				b.names = append(b.names, left[i][0].name)
				b.took += left[i][0].took
				left[i] = left[i][1:]
			}
			if len(b.names) > 0 {
				all = append(all, b)
			}
		}
		if len(all) == before {
			return all
		}
	}
}

// try runs the tests with a mutant, and names the one that killed it. It gives them three times as
// long as they take without it, and 2 seconds. At this limit it looks how long they take now, and
// tries again if that is longer, because the machine has become busier.
func (b *batch) try(id int, took time.Duration) verdict {
	output, err := b.run(3*took+2*time.Second, fmt.Sprintf("RONDO_MUTANT=%d", id), b.names...)
	if errors.Is(err, context.DeadlineExceeded) {
		started := time.Now()
		_, err := b.run(10*time.Minute, "RONDO_MUTANT=0", b.names...)
		if now := time.Since(started); err == nil && now > took+took/4 {
			return b.try(id, now)
		}
		return verdict{"timed out", "(" + b.path + ")"}
	}
	if err == nil {
		return verdict{word: "survived"}
	}
	if match := failed.FindSubmatch(output); match != nil {
		return verdict{"killed", "(" + b.path + " " + string(match[1]) + ")"}
	}
	return verdict{"killed", "(" + b.path + ")"}
}

// run starts the program in a process group of its own, and kills what is left of the group.
func (p *program) run(limit time.Duration, setting string, names ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, p.binary, "-test.short", "-test.failfast", "-test.run=^("+strings.Join(names, "|")+")$")
	command.Dir = p.dir
	command.Env = append(os.Environ(), setting, "RONDO_SIM_STORE=off") // package sim would keep failures in the tree
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 5 * time.Second
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if command.Process != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	}
	return output.Bytes(), err
}
