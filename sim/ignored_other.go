//go:build !unix

package sim

import "os"

// ignored are the signals that do nothing to a program that does not catch them.
var ignored []os.Signal
