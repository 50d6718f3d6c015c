//go:build linux && (amd64 || arm64)

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlainGo: of a program of Go without Rondo, ps and tree show goroutines, those that do the
// same as one; what is about tasks refuses it.
func TestPlainGo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bare")
	if out, err := exec.Command("go", "build", "-o", file, "../../inspect/testdata/bare").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p := startFile(t, file)
	for out := ""; !strings.Contains(out, "os.(*File).read "); { // it says that it is ready before that
		_, out, _ = invoke("ps", p.pid())
	}
	for _, c := range []struct {
		verb, want string
	}{
		{"ps", `(?s)^No loop is running in it\.\n\nGOROUTINES   FIRST +STATE +FUNC +AT\n +1 +1 +syscall +runtime\.main +os\.\(\*File\)\.read file_posix\.go:\d+\n$`},
		{"tree", `(?s)^process \d+, go\S+: no loop is running in it\n\n1 goroutine, and \d+ of Go's runtime\n  goroutine 1 \[syscall\]  \(runtime\.main\)\n     os\.\(\*File\)\.read .*\n     main\.main `},
	} {
		shows(t, exitDone, c.want, c.verb, p.pid())
	}
	for _, verb := range []string{"check", "locks", "flame"} {
		if status, _, err := invoke(verb, p.pid()); status != exitFailed || !strings.Contains(err, "has no Rondo in it") {
			t.Errorf("%s: status %d, error %q", verb, status, err)
		}
	}
}
