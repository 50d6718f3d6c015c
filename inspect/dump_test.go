//go:build linux && (amd64 || arm64)

package inspect_test

// Core files, written as the kernel does, on any machine: the kernel's own
// go where the machine's owner wants them.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A mapping is a line of /proc/PID/maps.
type mapping struct {
	start, end, offset uint64
	flags              string
	path               string
}

func mappings(t *testing.T, pid int) (out []mapping) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var m mapping
		f := strings.Fields(line)
		if _, err := fmt.Sscanf(f[0]+" "+f[2], "%x-%x %x", &m.start, &m.end, &m.offset); err != nil {
			t.Fatal(err)
		}
		m.flags = f[1]
		if len(f) > 5 {
			m.path = f[5]
		}
		if m.flags[0] == 'r' && m.path != "[vvar]" && m.path != "[vsyscall]" && m.path != "[vvar_vclock]" {
			out = append(out, m)
		}
	}
	return out
}

// A dumper is what writes a core.
type dumper int

const (
	kernel   dumper = iota
	gcore           // leaves out what is mapped read-only of a file, as gcore does by default, but for the first part
	headless        // leaves that out too
)

// dump writes the core of a process, which it stops for that, as the kernel does
// it: of files that are mapped and were not written only the first page is there.
// The kernel's own cores go where the machine's owner wants them, which a test
// cannot count on.
func dump(by dumper, t *testing.T, pid int, name string) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var notes bytes.Buffer
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		tid, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.PtraceSeize(tid); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.PtraceDetach(tid) }()
		if err := unix.PtraceInterrupt(tid); err != nil {
			t.Fatal(err)
		}
		var status unix.WaitStatus
		if _, err := unix.Wait4(tid, &status, unix.WALL, nil); err != nil {
			t.Fatal(err)
		}
		var regs unix.PtraceRegs
		if err := unix.PtraceGetRegs(tid, &regs); err != nil {
			t.Fatal(err)
		}
		// The kernel's struct elf_prstatus.
		status0 := make([]byte, 112)
		binary.LittleEndian.PutUint32(status0[32:], uint32(tid))
		note(&notes, 1, append(status0, words(regs)...), make([]byte, 8))
	}
	maps := mappings(t, pid)
	var entries []uint64
	var names []byte
	for _, m := range maps {
		if strings.HasPrefix(m.path, "/") {
			entries = append(entries, m.start, m.end, m.offset/pageSize)
			names = append(append(names, m.path...), 0)
		}
	}
	note(&notes, 0x46494c45, words([]uint64{uint64(len(entries) / 3), pageSize}), words(entries), names)
	write(t, pid, name, slices.DeleteFunc(maps, func(m mapping) bool {
		return by != kernel && m.flags[1] != 'w' && strings.HasPrefix(m.path, "/") && (m.offset > 0 || by == headless)
	}), notes.Bytes())
}

func words(v any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func note(b *bytes.Buffer, kind uint32, parts ...[]byte) {
	data := bytes.Join(parts, nil)
	b.Write(words([]uint32{5, uint32(len(data)), kind}))
	b.WriteString("CORE\x00\x00\x00\x00")
	b.Write(data)
	b.Write(make([]byte, -len(data)&3))
}

// write writes the file: the header, the program headers, the notes, the memory.
func write(t *testing.T, pid int, name string, maps []mapping, notes []byte) {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	machine := map[string]uint16{"amd64": 62, "arm64": 183}[runtime.GOARCH]
	var head bytes.Buffer
	head.WriteString("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9))
	head.Write(words([]uint16{4, machine}))
	head.Write(words(uint32(1)))
	head.Write(words([]uint64{0, 64, 0}))
	head.Write(words(uint32(0)))
	head.Write(words([]uint16{64, 56, uint16(1 + len(maps)), 64, 0, 0}))
	segment := func(kind, flags uint32, at, addr, size, memory uint64) {
		head.Write(words([]uint32{kind, flags}))
		head.Write(words([]uint64{at, addr, addr, size, memory, 1}))
	}
	at := uint64(64 + 56*(1+len(maps)))
	segment(4, 0, at, 0, uint64(len(notes)), 0)
	at = (at + uint64(len(notes)) + pageSize - 1) &^ (pageSize - 1)
	for _, m := range maps {
		flags, size := uint32(4), m.end-m.start
		if m.flags[1] == 'w' {
			flags |= 2
		} else if strings.HasPrefix(m.path, "/") {
			size = 0
			if m.offset == 0 {
				size = pageSize
			}
		}
		if m.flags[2] == 'x' {
			flags |= 1
		}
		segment(1, flags, at, m.start, size, m.end-m.start)
		copyMemory(t, pid, file, int64(at), m.start, size)
		at += size
	}
	if _, err := file.WriteAt(append(head.Bytes(), notes...), 0); err != nil {
		t.Fatal(err)
	}
	if err := file.Truncate(int64(at)); err != nil {
		t.Fatal(err)
	}
}

// copyMemory leaves holes in the file for pages without anything in them.
func copyMemory(t *testing.T, pid int, file *os.File, at int64, start, size uint64) {
	t.Helper()
	buf := make([]byte, 1<<20)
	zero := make([]byte, pageSize)
	for done := uint64(0); done < size; {
		b := buf[:min(uint64(len(buf)), size-done)]
		local := []unix.Iovec{{Base: &b[0]}}
		local[0].SetLen(len(b))
		n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(start + done), Len: len(b)}}, 0)
		if err != nil {
			t.Fatalf("%x: %v", start+done, err)
		}
		for i := 0; i+pageSize <= n; i += pageSize {
			if bytes.Equal(b[i:i+pageSize], zero) {
				continue
			}
			if _, err := file.WriteAt(b[i:i+pageSize], at+int64(done)+int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		done += uint64(n)
	}
}
