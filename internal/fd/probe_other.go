//go:build !unix

package fd

// probe returns a function for RawConn.Read, which calls it until it returns
// true: when a read would not wait. Between two calls RawConn.Read waits for
// that, and what is there already counts.
func probe() func(sys uintptr) bool {
	called := false
	return func(uintptr) bool {
		before := called
		called = true
		return before
	}
}
