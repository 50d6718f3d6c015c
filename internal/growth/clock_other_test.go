//go:build !linux

package growth_test

import "time"

var began = time.Now()

// spent returns the time that has passed: there is no other clock that is fine enough.
func spent() time.Duration { return time.Since(began) }
