// Command mutate changes a package in one place at a time and runs tests: a mutant that they pass
// is a survivor, and shows what no test holds. All mutants are compiled at once, into an overlay in
// which each place asks whether it is the one that RONDO_MUTANT names, so a mutant costs the run
// of its tests and nothing more.
//
//	mutate [-n 50] [-seed 1] [-at loop.go:12] PACKAGE [TESTED PACKAGE...]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/tools/go/packages"
)

// selector is the package that the overlay adds: its calls stand in the mutated source.
const selector = `package mutant

import (
	"cmp"
	"os"
	"strconv"
)

var active, _ = strconv.Atoi(os.Getenv("RONDO_MUTANT"))

type number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

func On(id int) bool { return id == active }

func Less[T cmp.Ordered](id int, a, b T) bool { return a < b || id == active && a == b }

func AtMost[T cmp.Ordered](id int, a, b T) bool { return a < b || id != active && a == b }

func Sum[T number](id int, a, b T) T {
	if id == active {
		return a - b
	}
	return a + b
}

func Difference[T number](id int, a, b T) T {
	if id == active {
		return a + b
	}
	return a - b
}

func Signed[T number](id int, a T) T {
	if id == active {
		return -a
	}
	return a
}
`

// tests is the compiled test program of one package.
type tests struct {
	path, binary, dir, skip string
	limit                   time.Duration
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutate: ")
	count := flag.Int("n", 0, "how many mutants, at random; 0 is all")
	seed := flag.Uint64("seed", 1, "chooses the mutants of -n")
	at := flag.String("at", "", "only mutants whose place, as loop.go:12:, matches this")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("which package?")
	}
	scratch, err := os.MkdirTemp("", "mutate")
	if err != nil {
		log.Fatal(err)
	}
	err = run(scratch, regexp.MustCompile(*at), *count, *seed, flag.Args())
	if err := errors.Join(err, os.RemoveAll(scratch)); err != nil {
		log.Fatal(err)
	}
}

// run mutates the first of paths and tests with all of them.
func run(scratch string, at *regexp.Regexp, count int, seed uint64, paths []string) error {
	config := &packages.Config{Mode: packages.LoadSyntax | packages.NeedModule}
	loaded, err := packages.Load(config, paths[0])
	if err != nil {
		return err
	}
	if packages.PrintErrors(loaded) > 0 || len(loaded) != 1 {
		return fmt.Errorf("%s is not one package without errors", paths[0])
	}
	overlay, mutants, err := instrument(loaded[0], scratch)
	if err != nil {
		return err
	}
	programs, err := compile(scratch, overlay, paths)
	if err != nil {
		return err
	}
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !at.MatchString(m.place) })
	found := len(mutants)
	if count > 0 && count < found {
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(found, func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
		mutants = mutants[:count]
	}
	result := make(map[string]int)
	for _, m := range mutants {
		word, by := "survived", ""
		for _, program := range programs {
			if word, by = program.test(m.id); word != "survived" {
				break
			}
		}
		result[word]++
		fmt.Printf("%-9s %s %s -> %s %s\n", word, m.place, m.from, m.to, by)
	}
	fmt.Printf("%s: %d of %d mutants: %d killed, %d timed out, %d survived\n", loaded[0].PkgPath, len(mutants), found,
		result["killed"], result["timed out"], result["survived"])
	return nil
}

// instrument writes the sources of the package with all mutants, and the file for -overlay that
// puts them in the place of the real ones.
func instrument(pkg *packages.Package, scratch string) (string, []mutant, error) {
	added := "internal/mutant"
	replace := map[string]string{filepath.Join(pkg.Module.Dir, added, "mutant.go"): filepath.Join(scratch, "mutant.go")}
	if err := os.WriteFile(filepath.Join(scratch, "mutant.go"), []byte(selector), 0o666); err != nil {
		return "", nil, err
	}
	var all []mutant
	for i, file := range pkg.Syntax {
		name := pkg.CompiledGoFiles[i]
		source, err := os.ReadFile(name)
		if err != nil {
			return "", nil, err
		}
		s := &site{pkg: pkg, source: source, first: len(all) + 1, base: pkg.Fset.File(file.FileStart)}
		s.walk(file)
		if len(s.mutants) == 0 {
			continue
		}
		end := s.offset(file.Name.End())
		s.edits = append(s.edits, edit{start: end, end: end, open: "; import mutant " + fmt.Sprintf("%q", pkg.Module.Path+"/"+added)})
		target := filepath.Join(scratch, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(target, s.apply(), 0o666); err != nil {
			return "", nil, err
		}
		replace[name] = target
		all = append(all, s.mutants...)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", nil, err
	}
	overlay := filepath.Join(scratch, "overlay.json")
	return overlay, all, os.WriteFile(overlay, text, 0o666)
}

// compile builds the tests of each package and runs them without a mutant: tests that fail then, as
// those of allocations may in code that asks at each place, are left out.
func compile(scratch, overlay string, paths []string) ([]*tests, error) {
	var all []*tests
	for i, path := range paths {
		t := &tests{path: path, binary: filepath.Join(scratch, fmt.Sprintf("%d.test", i))}
		dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", path).Output()
		if err != nil {
			return nil, fmt.Errorf("go list %s: %w", path, err)
		}
		t.dir = strings.TrimSpace(string(dir))
		build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", t.binary, path)
		if output, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go test -c %s: %w\n%s", path, err, output)
		}
		if _, err := os.Stat(t.binary); err != nil {
			continue // without tests
		}
		output, err := t.plain("-test.v")
		var names []string
		for _, match := range failed.FindAllSubmatch(output, -1) {
			names = append(names, string(match[1]))
		}
		if err != nil && len(names) == 0 {
			return nil, fmt.Errorf("%s without a mutant: %w\n%s", path, err, output)
		}
		if len(names) > 0 {
			t.skip = "^(" + strings.Join(names, "|") + ")$"
			fmt.Printf("%s: left out, because they fail without a mutant: %s\n", path, strings.Join(names, ", "))
		}
		all = append(all, t)
	}
	return all, nil
}

// plain runs the tests without a mutant, and sets the limit.
func (t *tests) plain(flags ...string) ([]byte, error) {
	t.limit = 10 * time.Minute
	started := time.Now()
	output, err := t.run(0, flags...)
	t.limit = 3*time.Since(started) + 10*time.Second
	return output, err
}

// test runs the tests with one mutant, and names the test that killed it. At the limit it tries
// again if they take longer without a mutant than they did, because the machine has become busier.
func (t *tests) test(id int) (word, by string) {
	output, err := t.run(id, "-test.failfast")
	if limit := t.limit; errors.Is(err, context.DeadlineExceeded) {
		if _, err := t.plain(); err == nil && t.limit > limit+limit/4 {
			return t.test(id)
		}
	}
	switch {
	case err == nil:
		return "survived", ""
	case errors.Is(err, context.DeadlineExceeded):
		return "timed out", "(" + t.path + ")"
	}
	if match := failed.FindSubmatch(output); match != nil {
		return "killed", "(" + t.path + " " + string(match[1]) + ")"
	}
	return "killed", "(" + t.path + ")"
}

// run starts the program in a process group of its own, and kills what is left of the group.
func (t *tests) run(id int, flags ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), t.limit)
	defer cancel()
	command := exec.CommandContext(ctx, t.binary, append(flags, "-test.short", "-test.skip="+t.skip)...)
	command.Dir = t.dir
	command.Env = append(os.Environ(), fmt.Sprintf("RONDO_MUTANT=%d", id))
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
