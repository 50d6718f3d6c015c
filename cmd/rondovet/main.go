// Command rondovet finds mistakes in programs made with Rondo: a ctx of an outer scope,
// a call that stops the loop, an error of a wait that is dropped, a call that only
// a task may make, and state of tasks that a goroutine writes.
//
//	rondovet ./...
//	go vet -vettool=$(which rondovet) ./...
//
// docs/VET.md says what each check finds, and how to silence a report.
package main

import (
	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/rondo-go/rondo/cmd/rondovet/vet"
)

func main() { multichecker.Main(vet.Analyzers...) }
