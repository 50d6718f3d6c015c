//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"sync"

	"golang.org/x/sys/unix"
)

// profilerAllowed reports whether the kernel takes samples of other processes of
// this user: containers often forbid it.
var profilerAllowed = sync.OnceValue(func() bool {
	fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: unix.PERF_ATTR_SIZE_VER5,
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
})
