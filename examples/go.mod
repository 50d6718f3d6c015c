module github.com/rondo-go/rondo/examples

go 1.26.0

require (
	github.com/rondo-go/rondo v0.1.0
	github.com/valyala/fasthttp v1.72.0
	golang.org/x/sys v0.49.0
)

require (
	github.com/andybalholm/brotli v1.2.1 // indirect
	github.com/klauspost/compress v1.18.6 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
)
