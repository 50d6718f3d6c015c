package goinspect

// The place of a running thread of a live process is found without
// stopping it. If it is in a system call, /proc says where. If it is on a
// processor, one sample of the kernel's profiler has its registers and its stack at
// one moment: perf_event_open(2), which needs kernel.perf_event_paranoid <= 2 and
// is forbidden in many containers.

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func (l *live) registers(thread int) (registers, bool) {
	if thread == unix.Gettid() && l.pid == os.Getpid() {
		return registers{}, false
	}
	if r, ok := l.inSyscall(thread); ok {
		return r, true
	}
	return l.profiled(thread)
}

// inSyscall reads /proc/PID/task/TID/syscall, which has the stack pointer and the
// program counter last; see proc_pid_syscall(5).
func (l *live) inSyscall(thread int) (registers, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", l.pid, thread))
	if err != nil {
		return registers{}, false
	}
	f := strings.Fields(string(text))
	if len(f) < 3 {
		return registers{}, false
	}
	sp, err1 := strconv.ParseUint(strings.TrimPrefix(f[len(f)-2], "0x"), 16, 64)
	pc, err2 := strconv.ParseUint(strings.TrimPrefix(f[len(f)-1], "0x"), 16, 64)
	if err1 != nil || err2 != nil {
		return registers{}, false
	}
	r := registers{sp: sp, pc: pc, exact: true, how: "in a system call"}
	if f[0] == "-1" {
		r.how = "stopped by the kernel"
	}
	r.stack = upFrom(l, sp)
	return r, len(r.stack) > 0
}

// What a sample contains: the registers, and as much of the stack as the kernel
// copies.
const (
	sampledStack = 32 << 10
	ringPages    = 32
	samplePeriod = uint64(100 * time.Microsecond)
	sampleWait   = 50 * time.Millisecond
)

// The kernel's numbers of the registers, in rising order as it writes them.
func sampledRegisters() (mask uint64, sp, pc, lr int) {
	switch runtime.GOARCH {
	case "amd64": // bp, sp, ip
		return 1<<6 | 1<<7 | 1<<8, 1, 2, -1
	case "arm64": // x29, lr, sp, pc
		return 1<<29 | 1<<30 | 1<<31 | 1<<32, 2, 3, 1
	}
	return 0, 0, 0, 0
}

// profiled takes one sample of a thread that is on a processor.
func (l *live) profiled(thread int) (registers, bool) {
	mask, sp, pc, lr := sampledRegisters()
	if mask == 0 {
		return registers{}, false
	}
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Sample: samplePeriod,
		Sample_type: unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER,
		Bits:        unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv, Wakeup: 1,
		Sample_regs_user: mask, Sample_stack_user: sampledStack,
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, thread, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return registers{}, false
	}
	defer func() { _ = unix.Close(fd) }()
	ring, err := unix.Mmap(fd, 0, (1+ringPages)*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return registers{}, false
	}
	defer func() { _ = unix.Munmap(ring) }()
	if !comes(fd, sampleWait) {
		return registers{}, false
	}
	record := ring[os.Getpagesize():]
	// A record begins with its type, and ends with its size.
	if binary.NativeEndian.Uint32(record) != unix.PERF_RECORD_SAMPLE {
		return registers{}, false
	}
	return sampledAt(record[8:], bits(mask), sp, pc, lr)
}

// comes reports whether a sample arrives at a descriptor within some time. Signals do not end the
// wait: the runtime sends them to its own threads.
func comes(fd int, wait time.Duration) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for end := time.Now().Add(wait); ; {
		n, err := unix.Poll(poll, max(int(time.Until(end)/time.Millisecond), 0))
		if err != unix.EINTR {
			return err == nil && n > 0
		}
	}
}

func bits(mask uint64) int {
	n := 0
	for ; mask != 0; mask &= mask - 1 {
		n++
	}
	return n
}

// sampledAt reads a sample: the kind of registers, the registers, the size of
// the stack, the stack, and how much of that is real.
func sampledAt(b []byte, n, sp, pc, lr int) (registers, bool) {
	if Uint64(b, 0) == 0 {
		return registers{}, false
	}
	reg := func(i int) uint64 { return Uint64(b, 8+8*i) }
	r := registers{sp: reg(sp), pc: reg(pc), exact: true, how: "sampled by the kernel's profiler"}
	if lr >= 0 {
		r.lr = reg(lr)
	}
	at := 8 + 8*n
	size := int(min(Uint64(b, at), sampledStack))
	at += 8
	if at+size+8 > len(b) {
		return registers{}, false
	}
	real := int(min(Uint64(b, at+size), uint64(size)))
	r.stack = append([]byte(nil), b[at:at+real]...)
	return r, len(r.stack) > 0
}
