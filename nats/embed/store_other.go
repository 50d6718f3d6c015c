//go:build !unix || aix || solaris

package embed

// lock does nothing on this system.
func lock(string) (unlock func(), err error) { return func() {}, nil }
