package stacks

import (
	"os"
	"strings"
	"testing"
)

// TestPackages: each package that programs use is known as Rondo's own, so the place that
// a message shows is in the program.
func TestPackages(t *testing.T) {
	files, err := os.ReadDir("../../api")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		name := "/" + strings.TrimSuffix(f.Name(), ".txt")
		if name == "/rondo" {
			name = ""
		}
		if !Own(module + name + ".Function") {
			t.Errorf("a function of %s%s is taken for the program's", module, name)
		}
	}
	for _, f := range []string{"main.main", module + "/shard_test.TestCall", module + "/examples/echo.serve", module + "/nats/examples/broker.serve"} {
		if Own(f) {
			t.Errorf("%s is taken for Rondo's own", f)
		}
	}
}
