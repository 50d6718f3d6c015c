// Command typecheck reads the named packages with their tests and all that they import as source,
// for the system that GOOS and GOARCH name, and prints each error of a type in a package of this
// repository. go vet would compile the standard library for that system first, which takes minutes.
//
//	GOOS=freebsd typecheck PACKAGE...
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

// ours begins the import paths of this repository.
const ours = "github.com/rondo-go/rondo"

func main() {
	log.SetFlags(0)
	log.SetPrefix("typecheck: ")
	here, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}
	config := &packages.Config{
		Mode:  packages.LoadAllSyntax,
		Tests: true,
		Env:   append(os.Environ(), "CGO_ENABLED=0"),
		ParseFile: func(files *token.FileSet, name string, source []byte) (*ast.File, error) {
			file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
			if file != nil && !strings.HasPrefix(name, here) {
				dropBodies(file)
			}
			return file, err
		},
	}
	loaded, err := packages.Load(config, os.Args[1:]...)
	if err != nil {
		log.Fatal(err)
	}
	if len(loaded) == 0 {
		log.Fatal("no packages match")
	}
	failed := false
	packages.Visit(loaded, nil, func(p *packages.Package) {
		// Without the bodies the others' imports are not used, and the like. go test makes a main
		// package, whose files are in a cache.
		if !strings.HasPrefix(p.PkgPath, ours) || strings.HasSuffix(p.PkgPath, ".test") {
			return
		}
		for _, err := range p.Errors {
			failed = true
			fmt.Fprintln(os.Stderr, err)
		}
	})
	if failed {
		os.Exit(1)
	}
}

// dropBodies leaves of the functions what their callers see, which is all that is asked of the
// packages of others.
func dropBodies(file *ast.File) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
}
