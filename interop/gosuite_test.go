//go:build linux && !rondo_portable

package interop_test

// Go's own tests of net/http, with httptask in the place of net/http's server.

import (
	"context"
	"errors"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var suiteProgram = flag.String("gosuite", "", "where TestGoSuite leaves the program of Go's tests, to run some by hand with RONDO_SUITE=server or handler")

// A listed is a test of Go's that is not expected to pass.
type listed struct {
	mode    string // server, handler, or both
	release string // go1.26, go1.27, or all
	state   string // fails; unsure: it may pass; offload: it passes if its handlers are called by Offload
	reason  string
}

// expected reads the list for a mode and a release.
func expected(t *testing.T, mode, release string) map[string]listed {
	t.Helper()
	text, err := os.ReadFile("testdata/gosuite/listed.txt")
	if err != nil {
		t.Fatal(err)
	}
	list := make(map[string]listed)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 5 || !slices.Contains([]string{"server", "handler", "both"}, f[1]) ||
			!slices.Contains([]string{"go1.26", "go1.27", "all"}, f[2]) || !slices.Contains([]string{"fails", "unsure", "offload"}, f[3]) {
			t.Fatalf("listed.txt: %q is not: test, mode, release, state, reason", line)
		}
		if (f[1] == mode || f[1] == "both") && (f[2] == release || f[2] == "all") {
			list[f[0]] = listed{f[1], f[2], f[3], strings.Join(f[4:], " ")}
		}
	}
	return list
}

// TestGoSuite runs the tests that the Go release at hand has for package net/http. First every
// server in them is a httptask.Server, then each has its handlers in a httptask.Handler. They
// run once, in short mode, which makes them parallel.
func TestGoSuite(t *testing.T) {
	if *suiteProgram == "" && os.Getenv("RONDO_PEERS") != "all" {
		t.Skip("it builds the standard library anew and runs Go's tests of net/http, which takes a minute: set RONDO_PEERS=all, as CI does, or -gosuite=FILE")
	}
	release, _, _ := strings.Cut(strings.TrimPrefix(runtime.Version(), "go1."), ".")
	if release = "go1." + release; release != "go1.26" && release != "go1.27" {
		t.Skipf("it is not known which tests of net/http %s has", runtime.Version())
	}
	s := buildSuite(t)
	for _, mode := range []string{"server", "handler"} {
		t.Run(mode, func(t *testing.T) { s.check(t, mode, expected(t, mode, release)) })
	}
}

// A suite is the program of Go's tests.
type suite struct{ program, folder string }

// check runs all tests, and compares what fails with the list.
func (s *suite) check(t *testing.T, mode string, list map[string]listed) {
	all := strings.Fields(s.run(t, mode, time.Minute, "-test.list=^Test"))
	all = slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, "Test") })
	if len(all) < 500 {
		t.Fatalf("Go has only %d tests of net/http: %q", len(all), all)
	}
	for name := range list {
		if !slices.Contains(all, name) {
			t.Errorf("%s is listed and does not exist", name)
		}
	}
	skip := "-test.skip=^(" + strings.Join(slices.Sorted(maps.Keys(list)), "|") + ")$"
	out := s.run(t, mode, 3*time.Minute, skip)
	states := outcomes(out)
	failed := 0
	for _, name := range all {
		if _, is := list[name]; is || states[name] == "PASS" || states[name] == "SKIP" {
			continue
		}
		failed++
		t.Errorf("%s fails and is not listed:\n%s", name, tail(about(out, name)))
	}
	if failed > 0 {
		t.Logf("the end of the run:\n%s", tail(out))
	}
	not, offloaded := s.checkListed(t, mode, list)
	t.Logf("%s, %s: %d of %d tests pass, %d of them with handlers on goroutines by Offload",
		runtime.Version(), mode, len(all)-failed-not, len(all), offloaded)
}

// checkListed runs the tests of the list, each alone. It returns how many do not pass, and how
// many pass by Offload.
func (s *suite) checkListed(t *testing.T, mode string, list map[string]listed) (not, offloaded int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for name, l := range list {
		wg.Go(func() {
			limit, blocks := 5*time.Second, l.state == "offload"
			if blocks {
				limit = time.Minute
			}
			out := s.runWith(t, mode, blocks, limit, "-test.run=^"+name+"$")
			state := outcomes(out)[name]
			passes := state == "PASS" || state == "SKIP"
			mu.Lock()
			defer mu.Unlock()
			switch {
			case blocks && passes:
				offloaded++
			case blocks:
				not++
				t.Errorf("%s fails also by Offload:\n%s", name, tail(out))
			case !passes:
				not++
				t.Logf("%s fails, as listed: %s", name, l.reason)
			case l.state == "fails":
				t.Errorf("%s passes and is listed: %s", name, l.reason)
			}
		})
	}
	wg.Wait()
	return not, offloaded
}

var outcome = regexp.MustCompile(`--- (PASS|FAIL|SKIP): (Test[^/\s]*) \(`)

// outcomes returns what became of each test.
func outcomes(out string) map[string]string {
	states := make(map[string]string)
	for _, m := range outcome.FindAllStringSubmatch(out, -1) {
		states[m[2]] = m[1]
	}
	return states
}

// about returns what a test and its subtests have printed. A line of the kind "=== NAME TestX" or
// "--- FAIL: TestX" says of which test the lines are that follow.
func about(out, name string) string {
	var text strings.Builder
	is := false
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 2 && (f[0] == "===" || f[0] == "---") {
			test, _, _ := strings.Cut(f[2], "/")
			if is = test == name; f[0] == "===" {
				continue
			}
		}
		if is {
			text.WriteString(line)
		}
	}
	return text.String()
}

// tail returns the end of an output.
func tail(out string) string { return out[max(len(out)-6000, 0):] }

// run runs the program with flags for so long. It returns what it has printed.
func (s *suite) run(t *testing.T, mode string, limit time.Duration, flags ...string) string {
	return s.runWith(t, mode, false, limit, flags...)
}

// runWith is run; if offload is set each handler is called by Offload.
func (s *suite) runWith(t *testing.T, mode string, offload bool, limit time.Duration, flags ...string) string {
	ctx, cancel := context.WithTimeout(t.Context(), limit+10*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, s.program, append(flags, "-test.v", "-test.short", "-test.timeout="+limit.String())...)
	c.Dir = s.folder
	c.Env = append(os.Environ(), "RONDO_SUITE="+mode)
	if offload {
		c.Env = append(c.Env, "RONDO_OFFLOAD=1")
	}
	out, err := c.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Error(err)
	}
	return string(out)
}

// buildSuite builds Go's tests in a copy of GOROOT that consists of links, but for what is
// changed: httptask and all it needs are packages of the standard library there, so that tests
// of net/http can import them, and a few methods of http.Server have hooks. (The flag -overlay
// would do, but for the folders of assembly files: those have to exist.)
func buildSuite(t *testing.T) *suite {
	goroot := strings.TrimSpace(goCommand(t, ".", nil, "env", "GOROOT"))
	folder := filepath.Join(goroot, "src", "net", "http")
	if _, err := os.Stat(filepath.Join(folder, "serve_test.go")); err != nil {
		t.Skip("this Go has no sources of net/http's tests:", err)
	}
	root := filepath.Join(t.TempDir(), "goroot")
	link(t, goroot, root, "", "src", "src/net", "src/net/http")
	addPackages(t, filepath.Join(root, "src"))
	patchServer(t, filepath.Join(root, "src", "net", "http"))
	program := *suiteProgram
	if program == "" {
		program = filepath.Join(t.TempDir(), "http.test")
	} else if err := os.MkdirAll(filepath.Dir(program), 0o777); err != nil {
		t.Fatal(err)
	}
	environment := []string{"GOROOT=" + root, "GOTOOLCHAIN=local", "GOWORK=off", "GOFLAGS=", "PWD=" + filepath.Join(root, "src")}
	goCommand(t, filepath.Join(root, "src"), environment, "test", "-c", "-vet=off", "-o", program, "net/http")
	return &suite{program, folder}
}

// goCommand runs the go command in a folder. It returns what that prints.
func goCommand(t *testing.T, folder string, environment []string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", args...)
	c.Dir = folder
	c.Env = append(os.Environ(), environment...)
	var complaints strings.Builder
	c.Stderr = &complaints
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, complaints.String())
	}
	return string(out)
}

// link makes folders in root, with links to all that those of goroot have.
func link(t *testing.T, goroot, root string, folders ...string) {
	t.Helper()
	for _, folder := range folders {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o777); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(filepath.Join(goroot, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			if slices.Contains(folders, path) {
				continue
			}
			if err := os.Symlink(filepath.Join(goroot, path), filepath.Join(root, path)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// addPackages copies httptask and all it needs to src, under import paths without a dot.
func addPackages(t *testing.T, src string) {
	t.Helper()
	paths := strings.NewReplacer("github.com/rondo-go/rondo", "rondoloop", "golang.org/x/sys/unix", "rondoloop/xsysunix")
	imports := strings.NewReplacer(`"github.com/rondo-go/rondo`, `"rondoloop`, `"golang.org/x/sys/unix"`, `"rondoloop/xsysunix"`)
	const format = `{{if not .Standard}}{{.ImportPath}};{{.Dir}};{{join .GoFiles ";"}};{{join .SFiles ";"}}{{end}}`
	for line := range strings.Lines(goCommand(t, ".", nil, "list", "-deps", "-f", format, "github.com/rondo-go/rondo/httptask")) {
		f := strings.Split(strings.TrimSpace(line), ";")
		if len(f) < 3 {
			continue
		}
		to := filepath.Join(src, paths.Replace(f[0]))
		if err := os.MkdirAll(to, 0o777); err != nil {
			t.Fatal(err)
		}
		for _, name := range f[2:] {
			if name == "" {
				continue
			}
			text := readText(t, filepath.Join(f[1], name))
			if strings.HasSuffix(name, ".go") {
				text = imports.Replace(text)
			}
			writeText(t, filepath.Join(to, name), text)
		}
	}
}

// patchServer gives the package in a folder its hooks, and the tests what sets them.
func patchServer(t *testing.T, folder string) {
	t.Helper()
	patch(t, filepath.Join(folder, "server.go"), [][2]string{
		{"\nfunc (s *Server) Serve(", "\nfunc (s *Server) stdServe("},
		{"\nfunc (s *Server) ServeTLS(", "\nfunc (s *Server) stdServeTLS("},
		{"\nfunc (s *Server) Close()", "\nfunc (s *Server) stdClose()"},
		{"\nfunc (s *Server) Shutdown(", "\nfunc (s *Server) stdShutdown("},
		{"\nfunc (s *Server) SetKeepAlivesEnabled(", "\nfunc (s *Server) stdSetKeepAlivesEnabled("},
		{"\thandler.ServeHTTP(rw, req)\n}\n\nfunc badServeHTTP(", "\trondoHandler(sh.srv, handler).ServeHTTP(rw, req)\n}\n\nfunc badServeHTTP("},
	})
	patch(t, filepath.Join(folder, "export_test.go"), [][2]string{
		{"\nfunc (s *Server) ExportAllConnsIdle() bool {\n", "\nfunc (s *Server) ExportAllConnsIdle() bool {\n\tif !rondoIdle(s) {\n\t\treturn false\n\t}\n"},
	})
	writeText(t, filepath.Join(folder, "rondo_hook.go"), readText(t, "testdata/gosuite/hook.go.txt"))
	writeText(t, filepath.Join(folder, "rondo_test.go"), readText(t, "testdata/gosuite/suite.go.txt"))
}

// patch changes a file that is a link: each text is there once.
func patch(t *testing.T, path string, changes [][2]string) {
	t.Helper()
	text := readText(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		if n := strings.Count(text, change[0]); n != 1 {
			t.Fatalf("%s of %s has %q %d times", filepath.Base(path), runtime.Version(), change[0], n)
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	writeText(t, path, text)
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
