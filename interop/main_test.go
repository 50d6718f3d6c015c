package interop_test

import (
	"bufio"
	"io"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/rondo-go/rondo/internal/leak"
)

// TestMain holds the law that nothing is left behind: no goroutine and no file
// descriptor. fasthttp has a goroutine that keeps the date as long as the
// process lives; it is here before the count.
func TestMain(m *testing.M) {
	if err := new(fasthttp.ResponseHeader).Write(bufio.NewWriter(io.Discard)); err != nil {
		panic(err)
	}
	leak.Main(m)
}
