// Command typecheck reads the named packages with their tests and all that they import as source,
// for the system that GOOS and GOARCH name, and prints each error of a type. go vet would compile
// the standard library for that system first, which takes minutes.
//
//	GOOS=freebsd typecheck PACKAGE...
package main

import (
	"log"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("typecheck: ")
	config := &packages.Config{Mode: packages.LoadAllSyntax, Tests: true, Env: append(os.Environ(), "CGO_ENABLED=0")}
	loaded, err := packages.Load(config, os.Args[1:]...)
	if err != nil {
		log.Fatal(err)
	}
	if len(loaded) == 0 {
		log.Fatal("no packages match")
	}
	if packages.PrintErrors(loaded) > 0 {
		os.Exit(1)
	}
}
