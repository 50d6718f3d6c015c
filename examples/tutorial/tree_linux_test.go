package tutorial_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/look"
)

// vary is what differs from one run to the next.
var vary = []struct {
	*regexp.Regexp
	to string
}{
	{regexp.MustCompile(`(?m)^\$.*\n`), ""},
	{regexp.MustCompile(`process \d+, go[\w.]+`), "process N"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|s)\b`), "T"},
	{regexp.MustCompile(`busy \d+ %`), "busy"},
	{regexp.MustCompile(`127.0.0.1:\d+ fd \d+`), "A"},
	{regexp.MustCompile(`server 127.0.0.1:\d+`), "server A"},
	{regexp.MustCompile(`fd \d+`), "fd N"},
	{regexp.MustCompile(`\S*(tutorial/step7/main.go:\d+)`), "$1"},
	{regexp.MustCompile(`\S*bufio/scan.go:\d+`), "scan.go"},
}

// TestTree wants rondo tree to show of step 7 what the tutorial shows.
func TestTree(t *testing.T) {
	t.Parallel()
	c, err := look.Open(t.Context(), t.TempDir(), "./step7", "ann", "bob")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	out, err := c.Rondo(t.Context(), "tree").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	shown := ""
	for _, b := range block.FindAllStringSubmatch(steps(t)[6], -1) {
		if strings.HasPrefix(b[2], "$ rondo tree") {
			shown = b[2]
		}
	}
	got, goroutines, ok := strings.Cut(string(out), "\n2 goroutines beside the tasks")
	if !ok || !strings.Contains(goroutines, "net/http.Serve") {
		t.Errorf("the goroutine that serves the page is not shown:\n%s", out)
	}
	for _, v := range vary {
		shown, got = v.ReplaceAllString(shown, v.to), v.ReplaceAllString(got, v.to)
	}
	if strings.TrimSpace(got) != strings.TrimSpace(shown) {
		t.Errorf("rondo tree prints\n%s\nwhich the tutorial shows as\n%s", out, shown)
	}
}
