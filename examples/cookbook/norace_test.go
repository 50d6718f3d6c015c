//go:build !race

package cookbook_test

// buildFlags are for the programs: with -race they are built with it too.
var buildFlags []string

// kinds are the folders of the programs that are run.
var kinds = []string{".", "goroutines"}
