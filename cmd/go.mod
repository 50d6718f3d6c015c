module github.com/rondo-go/rondo/cmd

go 1.26.0

require golang.org/x/term v0.47.0
