package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestVerbFlags: the flags of a verb are those of its help text, each, and no other; those take a
// value with which the text shows one.
func TestVerbFlags(t *testing.T) {
	named := regexp.MustCompile(`(?m)(?:^  |, |\[)(--[a-z-]+)`)
	for _, v := range verbs() {
		var is, said []string
		for _, f := range v.flags() {
			is = append(is, "--"+f.Name)
			if shown := regexp.MustCompile(`(?m)^  --` + f.Name + `( \S)?`).FindStringSubmatch(v.usage); shown != nil {
				if b, ok := f.Value.(interface{ IsBoolFlag() bool }); (ok && b.IsBoolFlag()) != (shown[1] == "") {
					t.Errorf("rondo %s: %q, and it is a %T", v.name, shown[0], f.Value)
				}
			}
		}
		for _, m := range named.FindAllStringSubmatch(v.usage, -1) {
			said = append(said, m[1])
		}
		slices.Sort(said)
		if said = slices.Compact(said); !slices.Equal(is, said) {
			t.Errorf("rondo %s has the flags %q, and its help says %q", v.name, is, said)
		}
	}
}

// shellHere returns where a shell is, empty if there is none. On Windows bash may be the stub of
// WSL, which runs nothing before a system is installed.
func shellHere(t *testing.T, name string) string {
	path, err := exec.LookPath(name)
	if err != nil || runtime.GOOS == "windows" {
		t.Logf("no %s is here, or it is not looked for", name)
		return ""
	}
	return path
}

// TestCompletion: each script names all verbs and flags, and shells that are here understand it.
func TestCompletion(t *testing.T) {
	for shell, prefix := range map[string]string{"bash": "--", "zsh": "--", "fish": "-l "} {
		status, script, said := invoke("completion", shell)
		if status != exitDone || said != "" {
			t.Fatalf("%s: status %d, %q", shell, status, said)
		}
		for _, v := range verbs() {
			if !strings.Contains(script, v.name) {
				t.Errorf("%s: no verb %s", shell, v.name)
			}
			for _, f := range v.flags() {
				if !strings.Contains(script, prefix+f.Name) {
					t.Errorf("%s: no flag %s of %s", shell, f.Name, v.name)
				}
			}
		}
		file := filepath.Join(t.TempDir(), "rondo."+shell)
		if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		if path := shellHere(t, shell); path != "" {
			if out, err := exec.Command(path, "-n", file).CombinedOutput(); err != nil {
				t.Errorf("%s does not understand it: %v\n%s", shell, err, out)
			}
		}
	}
	for _, args := range [][]string{{"completion"}, {"completion", "tcsh"}, {"completion", "bash", "more"}, {"man", "more"}} {
		if status, _, said := invoke(args...); status != exitUsage || said == "" {
			t.Errorf("%q: status %d, %q", args, status, said)
		}
	}
}

// TestBashCompletes: what bash offers is what begins with the word.
func TestBashCompletes(t *testing.T) {
	bash := shellHere(t, "bash")
	if bash == "" {
		return
	}
	for line, want := range map[string]string{"rondo t": "tree top trace", "rondo ps --max-": "--max-memory --max-time", "rondo help ver": "version", "rondo completion z": "zsh"} {
		fields := strings.Fields(line)
		script := bashCompletion() + "COMP_WORDS=(" + line + "); COMP_CWORD=" + string(rune('0'+len(fields)-1)) + "; _rondo; echo \"${COMPREPLY[@]}\""
		out, err := exec.Command(bash, "-c", script).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%q is completed by %q, %v; want %q", line, got, err, want)
		}
	}
}

// TestMan: the manual has the help of each verb, and no line of a text is taken for a request.
func TestMan(t *testing.T) {
	status, page, said := invoke("man")
	if status != exitDone || said != "" {
		t.Fatalf("status %d, %q", status, said)
	}
	for _, v := range verbs() {
		if !strings.Contains(page, ".SS rondo "+v.name+"\n") || !strings.Contains(page, roff(v.usage)) {
			t.Errorf("%s is missing", v.name)
		}
	}
	if got, want := roff(".a\\b-c\n'd"), `\&.a\eb\-c`+"\n"+`\&'d`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
