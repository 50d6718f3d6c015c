module github.com/rondo-go/rondo/bench

go 1.26.0

require (
	golang.org/x/sync v0.24.0
	golang.org/x/sys v0.49.0
)
