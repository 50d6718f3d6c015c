module github.com/rondo-go/rondo/bench

go 1.26
