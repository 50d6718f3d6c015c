package inspect

// Stacks are read from the text that the runtime makes of them.

import (
	"strconv"
	"strings"

	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/goinspect"
)

// stacksOfAll returns the stacks of all goroutines, by their numbers.
func stacksOfAll() map[uint64]goinspect.Stack {
	out := make(map[uint64]goinspect.Stack)
	for text := range gid.Stacks() {
		if s, ok := parseStack(string(text)); ok {
			out[s.Goroutine] = s
		}
	}
	return out
}

// parseStack reads the text of one stack:
//
//	goroutine 7 [chan receive, 2 minutes]:
//	main.wait(0xc000012345, 0x1)
//		/home/me/main.go:12 +0x1d
//	created by main.main in goroutine 1
//		/home/me/main.go:7 +0x25
func parseStack(text string) (goinspect.Stack, bool) {
	head, rest, ok := strings.Cut(text, "\n")
	number, ok1 := strings.CutPrefix(head, "goroutine ")
	number, state, ok2 := strings.Cut(number, " [")
	id, err := strconv.ParseUint(number, 10, 64)
	if !ok || !ok1 || !ok2 || err != nil {
		return goinspect.Stack{}, false
	}
	state, _, _ = strings.Cut(state, "]")
	state, _, _ = strings.Cut(state, ",")
	s := goinspect.Stack{Goroutine: id, State: goinspect.Waiting}
	switch state {
	case "running":
		s.State = goinspect.Running
	case "runnable":
		s.State = goinspect.Runnable
	case "syscall":
		s.State = goinspect.Syscall
	default:
		s.How = state
	}
	lines := strings.Split(strings.TrimRight(rest, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		name := lines[i]
		if strings.HasPrefix(name, "created by ") {
			break
		}
		if strings.HasPrefix(name, "...") {
			s.Cut = true // of which it is said how many calls they are
			continue
		}
		if i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "\t") {
			continue
		}
		i++
		s.Frames = append(s.Frames, frameOf(name, strings.TrimSpace(lines[i])))
	}
	return s, true
}

// frameOf reads the two lines of one call.
func frameOf(name, place string) goinspect.Frame {
	if open := strings.LastIndexByte(name, '('); open > 0 {
		name = name[:open]
	}
	if end := strings.LastIndex(place, " +0x"); end >= 0 {
		place = place[:end]
	}
	f := goinspect.Frame{Func: name, File: place}
	if colon := strings.LastIndexByte(place, ':'); colon > 0 {
		f.File = place[:colon]
		f.Line, _ = strconv.Atoi(place[colon+1:])
	}
	return f
}

// blockedBy says on what a goroutine is parked, by the runtime's word for it.
func blockedBy(reason string) (how, advice string) {
	switch {
	case strings.HasPrefix(reason, "chan "):
		return "blocked on a channel", "it is blocked on a channel; use rondo.Queue, or Offload"
	case strings.HasPrefix(reason, "select"):
		return "blocked in a select", "it is blocked in a select; use rondo.Select, or Offload"
	case strings.HasPrefix(reason, "sync."), strings.HasPrefix(reason, "semacquire"):
		return "blocked on a lock", "it is blocked on a lock, probably held by a suspended task; use rondo.Mutex, or Offload"
	case strings.Contains(reason, "GC "), strings.Contains(reason, "garbage collection"):
		return collecting, adviceGC
	case reason == "sleep":
		return "in time.Sleep", "it is in time.Sleep; use rondo.Sleep"
	case reason == "IO wait":
		return "waiting for a file or a connection of package net", "it is in a blocking call; use Offload"
	}
	return "parked by the runtime", "it is blocked outside Rondo; use Offload"
}
