module github.com/rondo-go/rondo/interop

go 1.26
