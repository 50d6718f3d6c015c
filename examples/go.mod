module github.com/rondo-go/rondo/examples

go 1.26.0

require (
	github.com/gobwas/ws v1.5.0
	github.com/redis/go-redis/v9 v9.23.0
	github.com/rondo-go/rondo v0.1.0
	github.com/valyala/fasthttp v1.72.0
	golang.org/x/net v0.62.0
	golang.org/x/sync v0.24.0
	golang.org/x/sys v0.49.0
	golang.org/x/time v0.16.0
)

require (
	github.com/andybalholm/brotli v1.2.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/gobwas/httphead v0.1.0 // indirect
	github.com/klauspost/compress v1.18.6 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
)
