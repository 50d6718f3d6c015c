package main

import (
	"bufio"
	"io"
	"os"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/internal/visits"
)

// TestMain passes the child the address at which it listens. fasthttp has a goroutine for
// the date that lives as long as the process; it is started before goroutines are counted.
func TestMain(m *testing.M) {
	if err := new(fasthttp.ResponseHeader).Write(bufio.NewWriter(io.Discard)); err != nil {
		panic(err)
	}
	program.Main(m, func() {
		address = os.Args[1]
		main()
	})
}

func TestVisits(t *testing.T) { visits.Test(t) }
