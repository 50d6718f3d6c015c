package goinspect

// The memory of a live process is read with process_vm_readv(2), which
// neither stops it nor lets it know. The kernel asks for the right to trace it:
// see ptrace(2), "Ptrace access mode checking".

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// live is the memory of the process pid.
type live struct {
	pid     int
	regions []Region
	born    identity
	batch   vectors

	vigil  vigil
	stalls *stalls  // of the process, for all who read it one after the other
	barred []Region // is not read, because it does not arrive
	alone  bool     // each request is read alone, to tell which does not arrive
}

// An identity tells programs apart that have the same process id one after the
// other: by fork, which gives another start, or by exec, which gives another stack.
type identity struct{ start, stack string }

// identify returns the identity of a process, and its state in a letter; see
// proc_pid_stat(5). The state is 0 if there is no such process, and also if it has no
// memory any more: it is about to end.
func identify(pid int) (identity, byte) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// The name, in parentheses, may contain anything.
	i := bytes.LastIndexByte(text, ')')
	if err != nil || i < 0 {
		return identity{}, 0
	}
	f := strings.Fields(string(text[i+1:]))
	const state, start, size, stack = 0, 22 - 3, 23 - 3, 28 - 3 // the first field here is the third one
	if len(f) <= stack || f[size] == "0" {
		return identity{}, 0
	}
	return identity{f[start], f[stack]}, f[state][0]
}

// Check returns ErrEnded if the process has ended since it was opened, or is about
// to, and ErrReplaced if it runs another program by now.
func (l *live) Check() error {
	now, state := identify(l.pid)
	// If the first thread has ended and others have not, the process is about to end,
	// or one of the others is in the middle of exec and takes the first one's place.
	exec := false
	for try := 0; try < settling && ended(state); try++ {
		last := threads(l.pid) <= 1
		now, state = identify(l.pid) // after the count: another may have taken its place by then
		exec = !ended(state)
		if last {
			break
		}
		time.Sleep(time.Millisecond)
	}
	switch {
	case ended(state) || now.start != l.born.start:
		return ErrEnded
	case exec || now.stack != l.born.stack: // 0 in the middle of exec
		return ErrReplaced
	}
	return nil
}

// settling is for how many milliseconds Check waits for a process that changes.
const settling = 200

func ended(state byte) bool { return state == 0 || state == 'Z' || state == 'X' }

// threads returns how many threads a process has, those included that have ended and
// were not waited for; 0 if there is no such process.
func threads(pid int) int {
	all, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return len(all)
}

// Stopped reports whether the process is stopped, by a signal or by a debugger.
func (l *live) Stopped() bool {
	_, state := identify(l.pid)
	return state == 'T' || state == 't'
}

// OpenProcess opens the memory of a live process. Its errors are sentences that
// say what is missing and what to do.
func OpenProcess(pid int) (Memory, error) {
	if pid <= 0 {
		return nil, fmt.Errorf("%d is not a process id", pid)
	}
	if err := foreignProc(); err != nil {
		return nil, err
	}
	born, _ := identify(pid)
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH):
		return nil, notShown(pid, unix.Kill(pid, 0))
	case errors.Is(err, os.ErrPermission):
		return nil, denied(pid)
	case err != nil:
		return nil, fmt.Errorf("the memory map of process %d cannot be read: %w", pid, err)
	}
	l := &live{pid: pid, regions: parseMaps(maps, emulated(pid)), born: born, stalls: new(stalls)}
	// A process that becomes another program has no map for a moment.
	for try := 0; try < rounds && len(l.regions) == 0; try++ {
		l.born, _ = identify(pid)
		maps, _ = os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		l.regions = parseMaps(maps, emulated(pid))
	}
	if len(l.regions) == 0 {
		return nil, fmt.Errorf("process %d has no memory: it is a kernel thread, or has ended", pid)
	}
	// The map may be read with fewer rights than the memory. A page may not arrive.
	err = nil
	next := Watch(l, func() {
		var b [1]byte
		err = l.Read(l.regions[0].Start, b[:])
	})
	if errors.Is(err, unix.EPERM) {
		return nil, denied(pid)
	}
	return next, nil
}

// watched returns what to look at while l is read, and what returns its successor if a read is
// given up.
func (l *live) watched() (*vigil, func() Memory) {
	return &l.vigil, func() Memory {
		if l.vigil.single {
			l.stalls.add(l.stalled(), &l.vigil)
		}
		next := l.again()
		next.alone = true
		return next
	}
}

// again returns another reader of the process, for after a read was given up.
func (l *live) again() *live {
	return &live{pid: l.pid, regions: l.regions, born: l.born, stalls: l.stalls, barred: l.stalls.regions()}
}

// stalled returns what is taken not to arrive as little as what the last read was of: the mapping
// in which that lies.
func (l *live) stalled() Region {
	from, to := l.vigil.from, l.vigil.to
	if maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", l.pid)); err == nil {
		if r, ok := regionAt(parseMaps(maps, false), from); ok && to <= r.End {
			return Region{Start: r.Start, End: r.End}
		}
	}
	return Region{Start: from &^ (pageSize - 1), End: (to + pageSize - 1) &^ (pageSize - 1)}
}

// Missing says in a sentence what of the memory is not read because it has not arrived; "" if
// there is no such.
func (l *live) Missing() string {
	if len(l.barred) == 0 {
		return ""
	}
	return notArrived(l.barred)
}

// Arrived returns l, or another reader of the process if some has arrived of what l does not read.
func (l *live) Arrived() Memory {
	if len(l.barred) == 0 || len(l.stalls.regions()) == len(l.barred) {
		return l
	}
	return l.again()
}

// foreignProc returns an error if /proc is of another PID namespace than the calling
// process is in: a number there is not the process that has it here.
func foreignProc() error {
	self, err := os.Readlink("/proc/self")
	if err == nil && self == strconv.Itoa(os.Getpid()) {
		return nil
	}
	if _, other := os.Stat("/proc/1"); err != nil && other != nil {
		return errors.New("/proc is not mounted: mount it, as in: mount -t proc proc /proc")
	}
	return errors.New("/proc is that of another PID namespace than you are in: mount your own, as in: unshare -m sh -c 'mount -t proc proc /proc && rondo ps'")
}

// OpenSelf opens the memory of the calling process, for which no right is
// needed.
func OpenSelf() (Memory, error) { return OpenProcess(os.Getpid()) }

// notShown says why /proc has no process pid, by what the kernel answers to the
// question whether there is one: with hidepid, /proc leaves out the processes of
// others.
func notShown(pid int, answer error) error {
	switch answer {
	case nil:
		return fmt.Errorf("process %d is not in /proc: mount /proc for the PID namespace that you are in", pid)
	case unix.EPERM:
		return fmt.Errorf("process %d belongs to another user, and /proc hides it (hidepid): run as that user or as root", pid)
	}
	return fmt.Errorf("there is no process %d (is it in another PID namespace?)", pid)
}

// denied says which right is missing.
func denied(pid int) error {
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d", pid), &st); err != nil {
		return notShown(pid, unix.Kill(pid, 0))
	}
	me := uint32(os.Geteuid())
	if me != 0 && st.Uid != me {
		return fmt.Errorf("process %d belongs to user %d and you are user %d: run as that user or as root", pid, st.Uid, me)
	}
	// In the outermost user namespace all users are mapped to themselves.
	if users, err := os.ReadFile("/proc/self/uid_map"); err == nil && !slices.Equal(strings.Fields(string(users)), []string{"0", "0", "4294967295"}) {
		return fmt.Errorf("process %d may not be read: you are in a user namespace, and it is not, or in another: run as root outside", pid)
	}
	if scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); me != 0 && len(scope) > 0 && scope[0] > '0' && scope[0] <= '3' {
		return fmt.Errorf("process %d may not be read: kernel.yama.ptrace_scope is %c; run as root, or set it to 0", pid, scope[0])
	}
	return fmt.Errorf("process %d may not be read: it runs with more rights than you or made itself undumpable, or the container withholds CAP_SYS_PTRACE (docker run --cap-add=SYS_PTRACE, kubectl debug --profile=general)", pid)
}

// parseMaps reads a memory map; see proc_pid_maps(5). all says that each file may
// hold the program, also one of which nothing is mapped as code.
func parseMaps(text []byte, all bool) []Region {
	var regions []Region
	var files []string // of each region: device and inode
	code := make(map[string]bool)
	for line := range bytes.Lines(text) {
		f := strings.Fields(string(line))
		if len(f) < 5 {
			continue
		}
		from, to, ok := strings.Cut(f[0], "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		file := f[3] + " " + f[4]
		if f[4] == "0" {
			file = ""
		}
		if file != "" && len(f[1]) > 2 && f[1][2] == 'x' {
			code[file] = true
		}
		if !ok || err1 != nil || err2 != nil || len(f[1]) < 3 || f[1][0] != 'r' {
			continue
		}
		if len(f) > 5 && (f[5] == "[vvar]" || f[5] == "[vsyscall]" || strings.HasPrefix(f[5], "/dev/")) {
			continue
		}
		regions = append(regions, Region{Start: start, End: end, Writable: f[1][1] == 'w', Executable: f[1][2] == 'x'})
		files = append(files, file)
	}
	for i, file := range files {
		regions[i].File = file != "" && (all || code[file])
	}
	return regions
}

// emulated reports whether the process is an emulator of programs for other
// processors, to which their code is data.
func emulated(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && strings.HasPrefix(filepath.Base(exe), "qemu-")
}

func (l *live) Regions() []Region { return l.regions }

func (l *live) Close() error { return nil }

func (l *live) Read(addr uint64, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	local := [1]unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	remote := [1]unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}
	if within(l.barred, addr, addr+uint64(len(b))) {
		return errUnmapped
	}
	n, err := l.readv(local[:], remote[:])
	switch {
	case err == unix.ESRCH:
		return fmt.Errorf("process %d has ended: %w", l.pid, err)
	case err != nil:
		return err
	case n < len(b):
		return errUnmapped
	}
	return nil
}

// readv reads stretches of memory. It does not return if that was given up.
func (l *live) readv(local []unix.Iovec, remote []unix.RemoteIovec) (n int, err error) {
	from, to := uint64(remote[0].Base), uint64(remote[0].Base)+uint64(remote[0].Len)
	l.vigil.begin(from, to, len(remote) == 1)
	n, err = unix.ProcessVMReadv(l.pid, local, remote, 0)
	if !l.vigil.end() {
		runtime.Goexit()
	}
	return n, err
}
