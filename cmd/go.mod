module github.com/rondo-go/rondo/cmd

go 1.26
