package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

// asCommand makes the test program the command itself.
const asCommand = "RONDO_TEST_AS_COMMAND"

// TestMain counts goroutines. Coroutines are goroutines too, so it finds what a
// loop or a test leaves behind.
func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	// What package os/signal starts at the first use stays for good.
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	signal.Stop(c)
	before := runtime.NumGoroutine()
	code := m.Run()
	if err := removeTarget(); err != nil {
		fmt.Println(err)
		code = 1
	}
	if left := settle(before); left > before && code == 0 {
		buf := make([]byte, 1<<20)
		fmt.Printf("%d goroutines were left behind:\n%s", left-before, buf[:runtime.Stack(buf, true)])
		code = 1
	}
	os.Exit(code)
}

// removeTarget removes what tests have built.
var removeTarget = func() error { return nil }

// settle waits for goroutines that are on their way out.
func settle(want int) int {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); runtime.Gosched() {
		if runtime.NumGoroutine() <= want {
			break
		}
	}
	return runtime.NumGoroutine()
}

// invoke runs the command in this process.
func invoke(args ...string) (status int, out, err string) {
	var stdout, stderr bytes.Buffer
	status = run(args, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// shows runs the command, and fails the test unless the status is that, no error is said, and the
// output, which it returns, matches the pattern.
func shows(t *testing.T, status int, pattern string, args ...string) (out string) {
	t.Helper()
	got, out, err := invoke(args...)
	if got != status || err != "" || !regexp.MustCompile(pattern).MatchString(out) {
		t.Errorf("rondo %s: status %d, want %d, error %q; nothing is as %s in\n%s", strings.Join(args, " "), got, status, err, pattern, out)
	}
	return out
}

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("%s has changed; go test -update writes it again.\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}
