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
	place, _ := UserCall(stack)
	return place
}

// UserCall returns what UserLine does, and the functions that are called there, the
// innermost first: the last of them is the one that the user's line calls. If no line is the
// user's, it is the innermost one of a module of others.
func UserCall(stack string) (place string, calls []string) {
	foreign, depth := "", 0
	lines := strings.Split(stack, "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		function := lines[i]
		if strings.HasPrefix(function, "created by ") {
			break
		}
		if cut := strings.LastIndexByte(function, '('); cut > 0 {
			function = function[:cut]
		}
		at, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +0x")
		switch {
		case below(function):
		case !others(at):
			return function + " at " + at, calls
		case foreign == "":
			foreign, depth = function+" at "+at, len(calls)
		}
		calls = append(calls, function)
	}
	return foreign, calls[:depth]
}

// startedAt returns the go statement that has started the goroutine of a stack, as file:line, or
// "" if it is not the user's own.
func startedAt(stack string) string {
	_, end, _ := strings.Cut(stack, "\ncreated by ")
	function, at, _ := strings.Cut(end, "\n")
	function, _, _ = strings.Cut(function, " in goroutine ")
	if at, _, _ = strings.Cut(strings.TrimSpace(at), " +0x"); function == "" || below(function) {
		return ""
	}
	return at
}

// Name returns the name of a function as a program writes it: "http.Client.Do".
func Name(function string) string {
	function = function[strings.LastIndexByte(function, '/')+1:]
	function, _, _ = strings.Cut(function, ".func")
	return strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(function)
}

// below reports whether a function belongs to Rondo or to the standard library.
func below(function string) bool { return Own(function) || Std(function) }

// Std reports whether a function belongs to the standard library. Its packages are those whose
// path begins with a word without a dot that the go command reserves; "main" is the program's.
func Std(function string) bool {
	slash := strings.LastIndexByte(function, '/')
	dot := strings.IndexByte(function[slash+1:], '.')
	if dot < 0 {
		return false
	}
	first, _, _ := strings.Cut(function[:slash+1+dot], "/")
	return slices.Contains(library, first)
}

// library has the first words of the paths of the standard library.
var library = strings.Fields(`archive bufio builtin bytes cmp compress container context crypto database debug embed encoding
	errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin reflect regexp
	runtime simd slices sort strconv strings structs sync syscall testing text time unicode unique unsafe weak`)

// others reports whether a file belongs to a module that the program requires: it is in the
// module cache, where each folder of a module ends with its version, or vendored.
func others(file string) bool {
	return strings.Contains(file, "@v") || strings.Contains(strings.ReplaceAll(file, `\`, "/"), "/vendor/")
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
