//go:build unix && !aix && !solaris

package embed

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock locks a folder against other servers, in this process and in others.
func lock(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("its store: %w", err)
	}
	// Some file systems have no locks. The server works there, unprotected.
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		f.Close()
		return nil, fmt.Errorf("another server uses its store %s: give each a StoreDir of its own", dir)
	}
	return func() { f.Close() }, nil
}
