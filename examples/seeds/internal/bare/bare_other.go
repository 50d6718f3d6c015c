//go:build !unix || aix || solaris

package bare

import (
	"errors"
	"time"
)

var errSystem = errors.New("bare: this program is for Unix systems, which have poll(2)")

// Listen fails.
func Listen() (fd int, address string, err error) { return -1, "", errSystem }

// Accept fails.
func Accept(int) (int, error) { return -1, errSystem }

// Read fails.
func Read(int, []byte) (int, error) { return 0, errSystem }

// Write fails.
func Write(int, []byte) (int, error) { return 0, errSystem }

// Close fails.
func Close(int) error { return errSystem }

func poll[T any]([]watched[T], time.Duration) ([]bool, error) { return nil, errSystem }
