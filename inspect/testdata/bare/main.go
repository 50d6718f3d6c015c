// Command bare is a Go program without Rondo in it. With an argument its main goroutine ends before
// the others begin.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
)

func main() {
	if len(os.Args) > 1 {
		runtime.GOMAXPROCS(1) // the record of a goroutine that has ended is the next one's there
		go others()
		runtime.Goexit()
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func others() {
	for runtime.NumGoroutine() > 1 {
		runtime.Gosched()
	}
	for range 3 {
		go func() { select {} }()
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
