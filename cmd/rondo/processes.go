package main

// The processes of Go: those that use Rondo, with their loops, and others.

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-go/rondo/inspect"
)

// enoughTasks is how many tasks of each loop are read for the list.
const enoughTasks = 100_000

// runProcesses writes a row for each process of Go.
func runProcesses(c *console) error {
	folders, err := os.ReadDir("/proc")
	if err != nil {
		return fmt.Errorf("the processes cannot be listed; this works on Linux, with /proc mounted: %w", err)
	}
	rows, refused := [][]string{{"PID", "GO", "GOROUTINES", "LOOPS", "TASKS", "CONNS", "BUSY", "STATE", "NAME", "SERVES", "PROGRAM"}}, 0
	for _, f := range folders {
		pid, err := strconv.Atoi(f.Name())
		if err != nil || pid == os.Getpid() || !mapsCode(pid, &refused) {
			continue
		}
		if r := processRow(pid); r != nil {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows[1:], func(a, b []string) int {
		x, _ := strconv.Atoi(a[0])
		y, _ := strconv.Atoi(b[0])
		return x - y
	})
	out := bufio.NewWriter(c.out)
	if len(rows) == 1 {
		fmt.Fprintln(out, "No process of Go is to be seen.")
	} else {
		writeRows(out, rows, []int{0, 2, 3, 4, 5, 6}, columns(c.out))
	}
	if _, err := os.Stat("/proc/1"); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(out, hidden)
	}
	if refused > 0 {
		fmt.Fprintln(out, refusal(refused, os.Geteuid()))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("cannot write the output; look at where it goes: %w", err)
	}
	return nil
}

// hidden is said where not even the first process is to be seen.
const hidden = "/proc hides the processes of other users (hidepid): run as root to see them."

// refusal says that n processes may not be read by the user, and the cure.
func refusal(n, user int) string {
	what := count(n) + " processes may"
	if n == 1 {
		what = "1 process may"
	}
	if user == 0 {
		return what + " not be read: root needs CAP_SYS_PTRACE, also in the user namespace of the process."
	}
	return what + " not be read: run as root to see all."
}

// mapsCode reports whether a process has a program that may be read. It counts in
// refused those that may not.
func mapsCode(pid int, refused *int) bool {
	_, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
	if errors.Is(err, fs.ErrPermission) {
		*refused++
	}
	return err == nil // Threads of the kernel have none.
}

// processRow returns the cells of a process; nil if it is none of Go, or may not be read.
// What is about loops is a dash where no loop runs.
func processRow(pid int) []string {
	t, err := inspect.OpenProcess(pid)
	if err != nil {
		return nil
	}
	p, err := t.Snapshot(inspect.Options{MaxTasks: enoughTasks, Goroutines: true})
	if e := t.Close(); err != nil || e != nil {
		return nil
	}
	program, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
	row := append([]string{strconv.Itoa(pid), p.Go, goroutines(p)}, totals(p)...)
	return append(row, strings.Map(shown, names(p)), strings.Map(shown, serves(p)), strings.Map(shown, program))
}

// goroutines returns how many goroutines run no task, those of Rondo and of Go's runtime left out;
// a dash if that is not known.
func goroutines(p *inspect.Program) string {
	if p.NoGoroutines != "" {
		return "-"
	}
	n := p.MoreGoroutines
	for _, g := range p.Goroutines {
		if g.Kind == "" {
			n++
		}
	}
	return count(n)
}

// mostNames is how many names of loops and of what they serve a row has.
const mostNames = 3

// names returns the names of the loops; those of shards, which differ in their number, as one.
func names(p *inspect.Program) string {
	var list []string
	for _, l := range p.Loops {
		name := l.Name
		if i := strings.LastIndexByte(name, '-'); i > 0 && i < len(name)-1 && strings.Trim(name[i+1:], "0123456789") == "" {
			name = name[:i]
		}
		list = append(list, name)
	}
	return few(list)
}

// serves returns what a process does for others: the addresses of its servers, and the names of
// tasks that serve calls, handle messages and do jobs of NATS.
func serves(p *inspect.Program) string {
	var list []string
	for _, l := range p.Loops {
		for _, s := range l.Servers {
			list = append(list, s.Name)
		}
		for _, t := range l.Tasks {
			if verb, what, ok := strings.Cut(t.Name, " "); ok && what != "progress" && (verb == "serve" || verb == "handle" || verb == "work") {
				list = append(list, t.Name)
			}
		}
	}
	return few(list)
}

// few writes the first of the names, each once, with commas between; a dash if there is none.
func few(list []string) string {
	slices.Sort(list)
	list = slices.Compact(list)
	switch n := len(list); {
	case n == 0:
		return "-"
	case n > mostNames:
		return strings.Join(list[:mostNames], ", ") + fmt.Sprintf(", %s more", count(n-mostNames))
	}
	return strings.Join(list, ", ")
}

// totals returns the cells of a process that are about all of its loops. A processor that
// is busy all the time is 100 %, as in top(1).
func totals(p *inspect.Program) []string {
	if len(p.Loops) == 0 {
		return []string{"-", "-", "-", "-", "-"}
	}
	tasks, busy, state := 0, 0.0, "turns"
	for _, l := range p.Loops {
		tasks += len(l.Tasks) + l.Omitted
		if l.Uptime > 0 {
			busy += float64(l.Busy) / float64(l.Uptime)
		}
		if l.Held != nil {
			state = "HELD"
		} else if l.Deadlock > 0 && state != "HELD" {
			state = "DEADLOCK"
		} else if state == "turns" && (len(l.Cycles) > 0 || len(p.Rings) > 0) {
			state = "CYCLE"
		}
	}
	if p.Stopped {
		state = "stopped"
	}
	return []string{count(len(p.Loops)), count(tasks), connections(p.Loops...), fmt.Sprintf("%.0f %%", 100*busy), state}
}

// connections writes how many connections of some loops are open; a dash if that is not
// known of one.
func connections(loops ...*inspect.Loop) string {
	n := 0
	for _, l := range loops {
		if l.Conns == nil {
			return "-"
		}
		n += *l.Conns
	}
	return count(n)
}
