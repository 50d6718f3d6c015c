//go:build !unix

package signals

import "os"

// uncatchable reports whether no program can catch s.
func uncatchable(s os.Signal) bool { return s == os.Kill }
