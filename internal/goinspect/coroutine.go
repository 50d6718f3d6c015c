package goinspect

// The goroutine that has resumed a coroutine. A coroutine of
// iter.Pull starts in runtime.corostart, whose frame, the first on the coroutine's
// stack, holds a pointer to a runtime.coro. That record begins with the goroutine
// that is parked in it: the one that has resumed the coroutine, or the coroutine
// itself while it waits for its turn.
//
// Where in that frame the pointer stands is found by looking, and is the same for
// all coroutines of a program. What it leads to is believed only if it is a
// goroutine, by the pointer to itself that each has.

import "slices"

// coroWords is how many words at the end of a coroutine's stack are searched.
const coroWords = 16

// Resumers returns for each coroutine the address of the record of the goroutine
// that has resumed it: its own if it waits for its turn, 0 if that is not known.
func (p *Program) Resumers(gs []Goroutine) []uint64 {
	out := make([]uint64, len(gs))
	if !p.inlines() || !p.chooseLayout(gs) || !p.findSwitch(gs) {
		return out
	}
	for from := 0; from < len(gs); from += batch {
		to := min(from+batch, len(gs))
		p.resumersOf(gs[from:to], out[from:to])
	}
	return out
}

func (p *Program) resumersOf(gs []Goroutine, out []uint64) {
	ends := p.stackEnds(gs)
	at := make([]uint64, len(gs))
	for i, end := range ends {
		if end != 0 {
			at[i] = end - p.switchAt
		}
	}
	found := p.parkedIn(p.words(at))
	// A stack that was moved meanwhile has another end.
	for i, end := range p.stackEnds(gs) {
		if end != 0 && end == ends[i] {
			out[i] = found[i]
		}
	}
}

// stackEnds returns where the stacks of goroutines end; 0 for one that is not
// there.
func (p *Program) stackEnds(gs []Goroutine) []uint64 {
	todo := make([]attempt, len(gs))
	for i, of := range gs {
		todo[i] = attempt{of: of}
	}
	out := make([]uint64, len(gs))
	for i, r := range p.readGs(todo) {
		if g, ok := p.layout.decode(gs[i], r.Data); ok && r.OK && g.state != Dead {
			out[i] = g.high
		}
	}
	return out
}

// words reads the words at some addresses; 0 for one that is not there.
func (p *Program) words(addrs []uint64) []uint64 {
	data := make([]byte, 8*len(addrs))
	var requests []Request
	for i, at := range addrs {
		if at != 0 && at%8 == 0 {
			requests = append(requests, Request{Addr: at, Data: data[8*i : 8*i+8 : 8*i+8]})
		}
	}
	p.mem.ReadMany(requests)
	for i := range requests {
		if !requests[i].OK {
			clear(requests[i].Data)
		}
	}
	out := make([]uint64, len(addrs))
	for i := range out {
		out[i] = Uint64(data, 8*i)
	}
	return out
}

// parkedIn returns the goroutines that are parked in the runtime.coros at some
// addresses; 0 for what is none.
func (p *Program) parkedIn(coros []uint64) []uint64 {
	gs := p.words(coros)
	at := make([]uint64, len(gs))
	for i, g := range gs {
		if g != 0 {
			at[i] = g + uint64(p.layout.self)
		}
	}
	for i, self := range p.words(at) {
		if self != gs[i] {
			gs[i] = 0
		}
	}
	return gs
}

// findSwitch finds how far before the end of its stack a coroutine has the pointer
// to its runtime.coro, by some coroutines. It reports whether that is known. It is
// the word nearest to the end that fits them, because others belong to the
// function that corostart calls.
func (p *Program) findSwitch(gs []Goroutine) bool {
	if p.switchAt != 0 {
		return true
	}
	gs = gs[:min(len(gs), batch)]
	ends := p.stackEnds(gs)
	at := make([]uint64, 0, len(gs)*coroWords)
	for _, end := range ends {
		for i := range uint64(coroWords) {
			at = append(at, max(end, 8*(i+1))-8*(i+1))
		}
	}
	found := p.parkedIn(p.words(at))
	fits, seen := [coroWords + 1]int{}, 0
	for i, end := range p.stackEnds(gs) {
		if end == 0 || end != ends[i] {
			continue // It has ended, or its stack was moved.
		}
		seen++
		for j, g := range found[i*coroWords : (i+1)*coroWords] {
			if g != 0 {
				fits[j+1]++
			}
		}
	}
	for i, n := range fits {
		// One in a while may be ending just now.
		if n > 0 && n >= seen-seen/8 {
			p.switchAt = uint64(8 * i)
			return true
		}
	}
	return false
}

// maxGoroutines bounds how many goroutines are looked through.
const maxGoroutines = 1 << 22

// Resumed finds, among all goroutines of the program, the coroutines that others
// have resumed, by the record of the one that has. known are some coroutines. It
// reports whether all were looked through. It reads a few words of each goroutine.
func (p *Program) Resumed(known []Goroutine) (map[uint64]Goroutine, bool) {
	if !p.inlines() || !p.chooseLayout(known) || !p.findSwitch(known) {
		return nil, false
	}
	list := p.goroutines()
	if len(list) == 0 {
		return nil, false
	}
	out := make(map[uint64]Goroutine)
	for from := 0; from < len(list); from += batch {
		gs := make([]Goroutine, min(batch, len(list)-from))
		for i := range gs {
			gs[i].Record = list[from+i]
		}
		resumers := make([]uint64, len(gs))
		p.resumersOf(gs, resumers)
		for i, r := range resumers {
			if r != 0 && r != gs[i].Record {
				out[r] = gs[i]
			}
		}
	}
	return out, true
}

// goroutines returns the records of all goroutines, from the runtime's allgs: the
// slice among its variables whose first element is the goroutine with the number 1.
// If there is none, that one has ended, as in a library that a program of C has
// loaded, and its record has become another's: then it is the first slice of goroutines one of
// which certainly waits.
func (p *Program) goroutines() []uint64 {
	if p.allgs == 0 {
		p.allgs = p.findAllgs()
	}
	var b [16]byte
	if p.allgs == 0 || p.mem.Read(p.allgs, b[:]) != nil {
		return nil
	}
	n := Uint64(b[:], 8)
	if n > maxGoroutines {
		return nil
	}
	data := make([]byte, 8*n)
	if p.mem.Read(Uint64(b[:], 0), data) != nil {
		return nil
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = Uint64(data, 8*i)
	}
	return out
}

// maxVariables bounds how much of the program's variables is searched.
const maxVariables = 64 << 20

func (p *Program) findAllgs() uint64 {
	other := uint64(0)
	for _, m := range p.modules {
		const piece = 1 << 20
		for from := uint64(0); from < min(m.bss.n, maxVariables); from += piece {
			b := make([]byte, min(piece+16, m.bss.n-from))
			if p.mem.Read(m.bss.addr+from, b) != nil {
				continue
			}
			var at, first []uint64
			for i := 0; i+24 <= len(b); i += 8 {
				array, n, room := Uint64(b, i), Uint64(b, i+8), Uint64(b, i+16)
				if array >= pageSize && array%8 == 0 && n > 0 && n <= room && room <= maxGoroutines {
					at, first = append(at, m.bss.addr+from+uint64(i)), append(first, array)
				}
			}
			for i, g := range p.words(first) {
				if g == 0 || g%8 != 0 {
					continue
				}
				if s, ok := p.readG(Goroutine{Record: g}); ok && s.id == 1 {
					return at[i]
				} else if ok && other == 0 && p.anyWaits(at[i]) {
					other = at[i]
				}
			}
		}
	}
	return other
}

// anyWaits reports whether one of the first few goroutines in a slice waits where a goroutine can:
// by a wrong layout, what is there could pass for one that is dead.
func (p *Program) anyWaits(list uint64) bool {
	head := p.words([]uint64{list, list + 8})
	at := make([]uint64, min(head[1], 16))
	for i := range at {
		at[i] = head[0] + 8*uint64(i)
	}
	return slices.ContainsFunc(p.words(at), func(record uint64) bool {
		g, ok := p.readG(Goroutine{Record: record})
		return ok && g.state == Waiting && p.plausible(&g)
	})
}
