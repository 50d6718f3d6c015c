module github.com/rondo-go/rondo/examples

go 1.26
