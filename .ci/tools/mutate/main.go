// Command mutate changes a package in one place at a time and runs tests: a mutant that they pass
// is a survivor, and shows what no test holds. All mutants are compiled at once, into an overlay in
// which each place asks whether it is the one that RONDO_MUTANT names, so a mutant costs the run
// of its tests and nothing more, and of these only the ones that reach its place.
//
//	mutate [-n 50] [-seed 1] [-at loop.go:12] [-parallel 4] PACKAGE [TESTED PACKAGE...]
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync/atomic"

	"golang.org/x/tools/go/packages"
)

// selector is the package that the overlay adds: its calls stand in the mutated source.
const selector = `package mutant

import (
	"cmp"
	"os"
	"strconv"
	"syscall"
)

var active, _ = strconv.Atoi(os.Getenv("RONDO_MUTANT"))

// reached has a byte for each mutant, in a file that outlives the process however it ends.
var reached = open(os.Getenv("RONDO_REACHED"))

func open(name string) []byte {
	if name == "" {
		return nil
	}
	file, err := syscall.Open(name, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	defer syscall.Close(file)
	var about syscall.Stat_t
	if err := syscall.Fstat(file, &about); err != nil {
		panic(err)
	}
	all, err := syscall.Mmap(file, 0, int(about.Size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return all
}

type number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

func On(id int) bool {
	if reached != nil {
		reached[id] = 1
	}
	return id == active
}

func Less[T cmp.Ordered](id int, a, b T) bool { return On(id) && a == b || a < b }

func AtMost[T cmp.Ordered](id int, a, b T) bool { return !On(id) && a == b || a < b }

func Sum[T number](id int, a, b T) T {
	if On(id) {
		return a - b
	}
	return a + b
}

func Difference[T number](id int, a, b T) T {
	if On(id) {
		return a + b
	}
	return a - b
}

func Signed[T number](id int, a T) T {
	if On(id) {
		return -a
	}
	return a
}
`

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutate: ")
	count := flag.Int("n", 0, "how many mutants, at random; 0 is all, in the order of the source")
	seed := flag.Uint64("seed", 1, "chooses the mutants of -n")
	at := flag.String("at", "", "only mutants whose line of the output matches this")
	parallel := flag.Int("parallel", 4, "how many test programs run at once")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("which package?")
	}
	scratch, err := os.MkdirTemp("", "mutate")
	if err != nil {
		log.Fatal(err)
	}
	err = run(scratch, regexp.MustCompile(*at), *count, *seed, max(1, *parallel), flag.Args())
	if err := errors.Join(err, os.RemoveAll(scratch)); err != nil {
		log.Fatal(err)
	}
}

// run mutates the first of paths and tests with all of them.
func run(scratch string, at *regexp.Regexp, count int, seed uint64, parallel int, paths []string) error {
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
	if err := measure(scratch, programs, len(mutants), parallel); err != nil {
		return err
	}
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !at.MatchString(m.String()) })
	found := len(mutants)
	if count > 0 {
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(found, func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
		mutants = mutants[:min(count, found)]
	}
	result := make(map[string]int)
	try := func(i int) verdict { return judge(programs, mutants[i].id) }
	show := func(i int, v verdict) {
		result[v.word]++
		fmt.Printf("%-9s %s %s\n", v.word, mutants[i], v.by)
	}
	inOrder(len(mutants), parallel, try, show)
	fmt.Printf("%s: %d of %d mutants: %d killed, %d timed out, %d survived\n", loaded[0].PkgPath, len(mutants), found,
		result["killed"], result["timed out"], result["survived"])
	return nil
}

// inOrder calls do for the numbers below n, some at once, and show with what it returned, in order.
func inOrder[T any](n, parallel int, do func(int) T, show func(int, T)) {
	results := make([]chan T, n)
	for i := range results {
		results[i] = make(chan T, 1)
	}
	var next atomic.Int64
	for range parallel {
		go func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				results[i] <- do(i)
			}
		}()
	}
	for i, result := range results {
		show(i, <-result)
	}
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
