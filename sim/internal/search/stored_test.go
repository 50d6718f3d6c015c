package search

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

// TestReadStored: a file with a failure has a line with which call it is of, and the choices. One
// that has something else is an error.
func TestReadStored(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a"+storedEnding)
	if _, _, _, err := readStored(name); err == nil {
		t.Error("no error of a file that is not there")
	}
	for _, one := range []struct {
		text   string
		number int // 0: an error
	}{
		{"# words\n\n  2 7:o1.2=3\n", 2},
		{"1 7:-\nanything", 1},
		{"", 0}, {"# words\n", 0},
		{"x 7:o1.2=3\n", 0}, {"7:o1.2=3\n", 0}, {"1 7\n", 0}, {"1 x\n", 0}, {"x\n1 7:o1.2=3\n", 0},
	} {
		if err := os.WriteFile(name, []byte(one.text), 0o600); err != nil {
			t.Fatal(err)
		}
		number, seed, list, err := readStored(name)
		if one.number == 0 && err == nil || one.number > 0 && (err != nil || number != one.number || seed != 7 || list == nil) {
			t.Errorf("%q: call %d, seed %d, %s, %v", one.text, number, seed, choice.Format(list), err)
		}
	}
}

// TestFolder: each test has a folder, whose name has letters, digits and dashes of its own.
func TestFolder(t *testing.T) {
	t.Setenv(storeVariable, "kept")
	t.Run("aAzZ09-.é", func(t *testing.T) {
		if got, want := (&Series{T: t}).folder(), filepath.Join("kept", "TestFolder", "aAzZ09-__"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		t.Setenv(storeVariable, "off")
		if got := (&Series{T: t}).folder(); got != "" {
			t.Error("nothing is kept:", got)
		}
	})
}
