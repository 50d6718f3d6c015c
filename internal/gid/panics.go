package gid

// PanicPasses is called, if it is set, when a coroutine of package coro ends with a
// panic, on its goroutine: before the goroutine that resumed it panics with the same
// value, and with the coroutine's stack, which nothing else would show then. Package
// rondo sets it. It is here because package coro imports this package alone.
var PanicPasses func(v any, stack []byte)
