package stacks

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-go/rondo/internal/gid"
)

// Of returns the state and the stack of a goroutine, as runtime.Stack prints
// them. If that goroutine is parked in a coroutine that it resumed, the
// coroutine is the one that runs, and it is the coroutine's that are returned.
// It stops the program to read all stacks.
func Of(id uint64) (state, stack string) {
	all := slices.Collect(gid.Stacks())
	for {
		state, stack = find(all, func(s []byte) bool { return bytes.HasPrefix(s, fmt.Appendf(nil, "goroutine %d ", id)) })
		if !strings.HasPrefix(state, "coroutine") {
			return state, stack
		}
		// Of those that it made, at most one is not parked.
		suffix := fmt.Appendf(nil, " in goroutine %d\n", id)
		inner, text := find(all, func(s []byte) bool {
			return bytes.Contains(append(s, '\n'), suffix) && bytes.Contains(s, []byte("created by iter.Pull")) &&
				!bytes.Contains(firstLine(s), []byte("[coroutine"))
		})
		if text == "" {
			return state, stack
		}
		next, ok := number([]byte(text))
		if !ok {
			return inner, text
		}
		id = next
	}
}

// Running returns the state and the stack of the goroutine among the members that
// is not parked in a coroutine. It stops the program to read all stacks.
func Running(member func(id uint64) bool) (state, stack string) {
	return find(slices.Collect(gid.Stacks()), func(s []byte) bool {
		id, ok := number(s)
		return ok && member(id) && !bytes.Contains(firstLine(s), []byte("[coroutine"))
	})
}

// Lines reads all stacks, and returns a function that returns the user's innermost
// place in the stack of a goroutine, or "". It stops the program to read them.
func Lines() func(id uint64) string {
	all := make(map[uint64]string)
	for text := range gid.Stacks() {
		if id, ok := number(text); ok {
			all[id] = string(text)
		}
	}
	return func(id uint64) string { return UserLine(all[id]) }
}

// Report returns what to print after a panic, of a stack that was taken while it was
// recovered: a line with the user's innermost place, and below an empty one what
// OfPanic returns.
func Report(stack string) string {
	stack = OfPanic(stack)
	place := UserLine(stack)
	if place != "" {
		place = "\n\tin " + place
	}
	return place + "\n\n" + stack
}

// OfPanic returns the text of a stack that was taken while a panic was recovered,
// without the calls above the one that panicked.
func OfPanic(stack string) string {
	lines := strings.Split(stack, "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		if !strings.HasPrefix(lines[i], "panic(") {
			continue
		}
		for i += 2; i+1 < len(lines) && strings.HasPrefix(lines[i], "runtime."); {
			i += 2
		}
		return strings.Join(append(lines[:1:1], lines[i:]...), "\n")
	}
	return stack
}

// UserLine returns the innermost place in the text of a stack that is the user's
// own, as "function at file:line", or "".
func UserLine(stack string) string {
	lines := strings.Split(stack, "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		function := lines[i]
		if strings.HasPrefix(function, "created by ") {
			break
		}
		if below(function) {
			continue
		}
		if cut := strings.LastIndexByte(function, '('); cut > 0 {
			function = function[:cut]
		}
		place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +0x")
		return function + " at " + place
	}
	return ""
}

// below reports whether a function belongs to Rondo or to the packages of the
// standard library through which a program makes calls that block.
func below(function string) bool {
	if own(function) {
		return true
	}
	name, _, _ := strings.Cut(function, ".")
	first, _, _ := strings.Cut(name, "/")
	return slices.Contains([]string{"internal", "sync", "time", "syscall", "os", "io", "net", "bufio", "context", "fmt", "log"}, first)
}

// number returns the number of the goroutine whose stack is given.
func number(stack []byte) (id uint64, ok bool) {
	digits, _, _ := bytes.Cut(bytes.TrimPrefix(stack, []byte("goroutine ")), []byte(" "))
	id, err := strconv.ParseUint(string(digits), 10, 64)
	return id, err == nil
}

func firstLine(s []byte) []byte {
	line, _, _ := bytes.Cut(s, []byte("\n"))
	return line
}

// find returns the state and the text of the first stack that matches.
func find(all [][]byte, match func([]byte) bool) (state, stack string) {
	for _, s := range all {
		if match(s) {
			_, rest, _ := bytes.Cut(firstLine(s), []byte("["))
			state, _, _ := bytes.Cut(rest, []byte("]"))
			return string(state), string(s)
		}
	}
	return "", ""
}
