package search

// The choices of failures are stored beside the test, in testdata, where later runs of the test
// try them first.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/picture"
	"github.com/rondo-go/rondo/sim/internal/replay"
)

// storeVariable is the environment variable that names another folder than testdata/sim
// for failures, or "off".
const storeVariable = "RONDO_SIM_STORE"

const storedEnding = ".choices"

// folder returns where the failures of the test are kept, or "" if they are not.
func (s *Series) folder() string {
	if _, ok := s.T.(*testing.T); !ok {
		return ""
	}
	dir := os.Getenv(storeVariable)
	switch dir {
	case "off":
		return ""
	case "":
		dir = filepath.Join("testdata", "sim")
	}
	parts := strings.Split(s.T.Name(), "/")
	for i, p := range parts {
		parts[i] = strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
				return r
			}
			return '_'
		}, p)
	}
	return filepath.Join(dir, filepath.Join(parts...))
}

// runStored runs the failures that are kept.
func (s *Series) runStored() {
	s.T.Helper()
	dir := s.folder()
	if dir == "" {
		return
	}
	files, err := os.ReadDir(dir) // not Glob: the name of the folder is no pattern
	if errors.Is(err, fs.ErrPermission) {
		s.T.Fatalf("sim: the failures that are stored cannot be read: %v", err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), storedEnding) {
			continue
		}
		name := filepath.Join(dir, f.Name())
		number, seed, list, err := readStored(name)
		if err != nil {
			s.T.Fatalf("sim: %v: delete the file", err)
		}
		if number == s.number {
			s.stored = name
			s.repeat(seed, list)
			s.stored = ""
		}
	}
}

// readStored reads a failure that is kept: which call in the test, and its choices.
func readStored(name string) (number int, seed uint64, list []choice.Choice, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, 0, nil, err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		call, value, _ := strings.Cut(line, " ")
		number, err = strconv.Atoi(call)
		p, err2 := replay.Parse(value)
		if err == nil && err2 == nil && p.List != nil {
			return number, p.First, p.List, nil
		}
		break
	}
	return 0, 0, nil, fmt.Errorf("%s holds no choices that can be read", name)
}

// file returns the name, without its ending, of the files for the choices of a list in
// the test's folder.
func (s *Series) file(seed uint64, list []choice.Choice) string {
	value := replay.FormatList(seed, list)
	var hash uint64
	for i := range len(value) {
		hash = choice.Mix(hash ^ uint64(value[i]))
	}
	return filepath.Join(s.folder(), fmt.Sprintf("%08x", uint32(hash)))
}

// store keeps a failure, unless failures are not kept. It returns the lines that a report has
// about that.
func (s *Series) store(seed uint64, list []choice.Choice, words []string, files picture.Files) (stored bool, line string) {
	if s.folder() == "" {
		return false, ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s failed with the choices below. It tries them first from now on.\n", s.T.Name())
	b.WriteString("# Delete this file when the test or what it tests has become another.\n")
	for _, w := range words {
		fmt.Fprintf(&b, "#   %s\n", w)
	}
	fmt.Fprintf(&b, "%d %s\n", s.number, replay.FormatList(seed, list))
	name := s.file(seed, list)
	err := os.MkdirAll(s.folder(), 0o777)
	if err == nil {
		err = os.WriteFile(name+storedEnding, []byte(b.String()), 0o666)
	}
	if err != nil {
		return false, fmt.Sprintf("\n\tnot stored: %v", err)
	}
	return true, fmt.Sprintf("\n\tstored: %s; the test tries it first from now on%s", name+storedEnding, files.Write(name))
}
