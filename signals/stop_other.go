//go:build !unix

package signals

import "os"

// uncatchable tells whether nobody can catch s.
func uncatchable(s os.Signal) bool { return s == os.Kill }
