package leak

import (
	"os"
	"testing"
)

// TestDescriptors: what is opened counts, but for the file that the C library reads when it likes.
func TestDescriptors(t *testing.T) {
	before := Descriptors()
	for _, file := range []struct {
		name   string
		counts int
	}{{os.DevNull, 1}, {processors, 0}} {
		f, err := os.Open(file.name)
		if err != nil {
			t.Fatal(err)
		}
		if n := Descriptors() - before; n != file.counts {
			t.Errorf("%s is open: %d more descriptors, want %d", file.name, n, file.counts)
		}
		f.Close()
		if n := Descriptors() - before; n != 0 {
			t.Errorf("%s is closed: %d more descriptors", file.name, n)
		}
	}
}
