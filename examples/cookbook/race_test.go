//go:build race

package cookbook_test

// buildFlags are for the programs: with -race they are built with it too.
var buildFlags = []string{"-race"}

// kinds are the folders of the programs that are run. Those with goroutines show nothing of
// Rondo that the race detector could find.
var kinds = []string{"."}
