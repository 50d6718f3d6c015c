//go:build !unix || aix || solaris

package loop

import "errors"

// poll is for systems that have poll(2).
func (l *Loop) poll() error {
	return errors.New("loop: descriptors can be waited for on Unix systems only")
}
