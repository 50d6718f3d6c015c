package interop_test

import (
	"bufio"
	"io"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/rondo-go/rondo/internal/leak"
)

// TestMain checks that the tests leave no goroutine and no file descriptor behind.
// fasthttp has a goroutine for the date that lives as long as the process. It is
// started before the count.
func TestMain(m *testing.M) {
	if err := new(fasthttp.ResponseHeader).Write(bufio.NewWriter(io.Discard)); err != nil {
		panic(err)
	}
	leak.Main(m)
}
