package goinspect

// All goroutines of a program are listed by the runtime's allgs. One is returned only if its record
// says that it lives; its stack is believed by the rules of Stacks, and why it waits is of
// the same moment.

import "slices"

// A Live is a goroutine that lives.
type Live struct {
	Stack
	Start  Frame  // the function that it began with, at its first line
	Site   uint64 // the return address of the go statement that started it; 0 if it is not known
	Parent uint64 // the number of the goroutine that started it; 0 if it is not known
}

// Goroutines calls each with the goroutines that live, some at a time, but for those whose records
// are in skip, which is sorted. It ends after most of them if that is not 0, and when each returns
// false. It returns how many more there are, and reports whether the list of all was found. A
// goroutine that ran each time that it was looked at has State Unknown and no calls.
func (p *Program) Goroutines(skip []uint64, most int, each func(some []Live) bool) (more int, ok bool) {
	if !p.inlines() || !p.findList() {
		return 0, false
	}
	var gs []Goroutine
	for _, record := range p.goroutines() {
		if _, known := slices.BinarySearch(skip, record); !known && record != 0 && record%8 == 0 {
			gs = append(gs, Goroutine{Record: record})
		}
	}
	read, on := 0, true
	for some := range slices.Chunk(gs, batch) {
		if !on {
			more += len(some) // some of them may be dead
			continue
		}
		some = p.living(some)
		if most > 0 && len(some) > most-read {
			some, more = some[:most-read], more+len(some)-(most-read)
		}
		read += len(some)
		on = each(p.lives(some))
	}
	return more, true
}

// lives reads goroutines that live.
func (p *Program) lives(gs []Goroutine) (out []Live) {
	origins := p.origins(gs)
	for i, s := range p.Stacks(gs) {
		if s.State == Unknown && len(p.living([]Goroutine{gs[i]})) > 0 {
			s.Goroutine, s.Record = gs[i].ID, gs[i].Record
		}
		if s.State == Dead || s.Record == 0 {
			continue
		}
		origins[i].Stack = s
		out = append(out, origins[i])
	}
	return out
}

// living returns those of the goroutines that live, with their numbers.
func (p *Program) living(gs []Goroutine) []Goroutine {
	out := gs[:0]
	todo := make([]attempt, 0, batch)
	for some := range slices.Chunk(gs, batch) {
		todo = todo[:0]
		for _, of := range some {
			todo = append(todo, attempt{of: of})
		}
		for i, r := range p.readGs(todo) {
			if g, ok := p.layout.decode(some[i], r.Data); r.OK && ok && g.state != Dead {
				out = append(out, Goroutine{Record: some[i].Record, ID: g.id})
			}
		}
	}
	return out
}

// origins returns where goroutines come from. What a release of Go that is not known has there
// is checked: an address of code is in a function.
func (p *Program) origins(gs []Goroutine) []Live {
	out := make([]Live, len(gs))
	column := func(offset int) []uint64 {
		at := make([]uint64, len(gs))
		for i, of := range gs {
			at[i] = of.Record + uint64(offset)
		}
		return p.words(at)
	}
	parents, sites, starts := column(p.layout.parent), column(p.layout.gopc), column(p.layout.start)
	for i := range out {
		if _, ok := p.find(sites[i]); ok {
			out[i].Site, out[i].Parent = sites[i], parents[i]
		}
		out[i].Start = p.Func(starts[i])
	}
	return out
}

// findList finds the runtime's list of all goroutines, and the layout of these if it is not
// known yet. It reports whether both are known.
func (p *Program) findList() bool {
	if p.layout != nil {
		return p.allgs != 0 || len(p.goroutines()) > 0
	}
	for i := range layouts {
		p.layout = &layouts[i]
		if list := p.goroutines(); len(list) > 0 {
			return true
		}
	}
	p.layout, p.foreign = nil, true
	return false
}

// Bounds on the runtime's texts for what goroutines wait for.
const (
	maxReasons = 256
	maxReason  = 64
)

// firstReasons are the first of these texts but one, which is empty.
var firstReasons = []string{"GC assist marking", "IO wait"}

// reason returns the runtime's words for why a goroutine waits; "" if they were not found.
func (p *Program) reason(number byte) string {
	if p.reasons == nil {
		p.reasons = p.findReasons()
	}
	if int(number) < len(p.reasons) {
		return p.reasons[number]
	}
	return ""
}

// findReasons finds the runtime's table of words for why goroutines wait, by the first of them.
// It is never nil.
func (p *Program) findReasons() []string {
	table := uint64(0)
	look := func(at uint64, b []byte) {
		for i := 0; table == 0 && i+48 <= len(b); i += 8 {
			if Uint64(b, i+24) != uint64(len(firstReasons[0])) || Uint64(b, i+40) != uint64(len(firstReasons[1])) || Uint64(b, i) != 0 || Uint64(b, i+8) != 0 {
				continue
			}
			if p.text(Uint64(b, i+16), len(firstReasons[0])) == firstReasons[0] && p.text(Uint64(b, i+32), len(firstReasons[1])) == firstReasons[1] {
				table = at + uint64(i)
			}
		}
	}
	scan(p.mem, func(r Region) bool { return r.Writable }, look)
	if table == 0 {
		scan(p.mem, func(r Region) bool { return !r.Writable && !r.Executable }, look)
	}
	out := []string{""}
	for n := uint64(1); table != 0 && n < maxReasons; n++ {
		w := p.words([]uint64{table + 16*n, table + 16*n + 8})
		if w[1] == 0 || w[1] > maxReason {
			break
		}
		text := p.text(w[0], int(w[1]))
		if text == "" {
			break
		}
		out = append(out, text)
	}
	return out
}

// text returns the text of n bytes at addr, if it can be printed as it is; "" otherwise.
func (p *Program) text(addr uint64, n int) string {
	b, ok := p.code.Bytes(addr, n)
	if !ok || Printable(string(b)) != string(b) {
		return ""
	}
	return string(b)
}
