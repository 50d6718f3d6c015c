package chance

// Code that asks for an interface of a value, in an assertion or a switch, has a cache of what it
// found. If a type is not in it, the runtime draws a number, and at one of 1,024 it adds the type.
// So how many numbers are drawn until a select draws one depends on all that the process has done
// before. Forget empties the caches: then a run does not depend on those before it.
//
// The caches are found by what they look like among the variables of the program, of which Linux
// says where they are.

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"reflect"
	"sync"

	"github.com/rondo-go/rondo/internal/gid"
)

// What the compiler makes of an assertion: the address of its cache, that of the interface, and
// whether it may fail; of a switch: the address of its cache, how many interfaces it has, and
// their addresses. An empty cache begins with words that are 0.
const (
	kindAt     = 16 // in the record of a type: a word whose highest byte is its kind
	casesMost  = 1000
	entryWords = 3 // of a switch; an assertion has one fewer
)

// caches is where they are.
type caches struct {
	assertions, switches        []uintptr // the words with their addresses
	emptyAssertion, emptySwitch uint64
}

var foundCaches = sync.OnceValue(findCaches)

// Forget empties the caches of all assertions and switches of the program, and all sync.Pools: a
// timer or a channel of one run must not be used in the next.
func Forget() {
	emptyPools()
	c := foundCaches()
	for _, at := range c.assertions {
		if word(at) != c.emptyAssertion {
			setWord(at, c.emptyAssertion)
		}
	}
	for _, at := range c.switches {
		if word(at) != c.emptySwitch {
			setWord(at, c.emptySwitch)
		}
	}
}

// An asserted and the others are interfaces for which nothing but samples asks.
type (
	asserted interface{ isAsserted() }
	switched interface{ isSwitched() }
	another  interface{ isAnother() }
)

// nothing is nil, which the compiler does not know.
var nothing any

// samples has an assertion and a switch whose caches stay empty.
func samples() (n int) {
	if _, ok := nothing.(asserted); ok {
		n++
	}
	switch nothing.(type) {
	case switched:
		n += 2
	case another:
		n += 3
	}
	return n
}

// A span is a part of the memory.
type span struct{ from, to uintptr }

func (s span) has(v uint64) bool { return uint64(s.from) <= v && v+64 <= uint64(s.to) }

// findCaches looks for the empty caches of samples, and then for all caches.
func findCaches() (c caches) {
	if !Works() {
		return c
	}
	program, variables := mapped()
	samples()
	assertion, choice := addressOf[asserted](), addressOf[switched]()
	for at, v := range words(variables) {
		switch {
		case v == assertion && isEmpty(program, word(at-8)):
			c.emptyAssertion = word(at - 8)
		case v == choice && word(at-8) == 2 && isEmpty(program, word(at-16)):
			c.emptySwitch = word(at - 16)
		}
	}
	if c.emptyAssertion == 0 || c.emptySwitch == 0 {
		return caches{}
	}
	for at, v := range words(variables) {
		next := word(at + 8)
		switch {
		case isInterface(program, next) && word(at+16) <= 1 && (v == c.emptyAssertion || isCache(v)):
			c.assertions = append(c.assertions, at)
		case 0 < next && next <= casesMost && isInterface(program, word(at+16)) && (v == c.emptySwitch || isCache(v)):
			c.switches = append(c.switches, at)
		}
	}
	return c
}

func addressOf[T any]() uint64 { return uint64(reflect.ValueOf(reflect.TypeFor[T]()).Pointer()) }

// words returns the words of the spans, but for a few at each end.
func words(all []span) func(yield func(at uintptr, v uint64) bool) {
	return func(yield func(at uintptr, v uint64) bool) {
		for _, s := range all {
			for at := s.from + 16; at+32 <= s.to; at += 8 {
				if !yield(at, word(at)) {
					return
				}
			}
		}
	}
}

// isEmpty reports whether an empty cache is at an address.
func isEmpty(program []span, address uint64) bool {
	for _, s := range program {
		if s.has(address) {
			for i := range uintptr(entryWords) {
				if word(uintptr(address)+8*i) != 0 {
					return false
				}
			}
			return true
		}
	}
	return false
}

// isInterface reports whether the record of an interface is at an address.
func isInterface(program []span, address uint64) bool {
	for _, s := range program {
		if s.has(address) {
			return address%8 == 0 && reflect.Kind(word(uintptr(address)+kindAt)>>56&31) == reflect.Interface
		}
	}
	return false
}

// isCache reports whether a cache with entries is at an address: on the heap, and it begins with
// how many entries it has, which is a power of 2, less one.
func isCache(address uint64) bool {
	if address%8 != 0 || address>>32 != uint64(gid.Record())>>32 {
		return false
	}
	n := word(uintptr(address)) + 1
	return 2 <= n && n <= 1<<20 && n&(n-1) == 0
}

// mapped returns where the program is in memory, and where in it its variables are that have a
// value from the beginning.
func mapped() (program, variables []span) {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, nil
	}
	executable, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil, nil
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var s span
		var rights, offset, device, node, name string
		n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s %s %s %s %s", &s.from, &s.to, &rights, &offset, &device, &node, &name)
		own := n == 7 && name == executable
		// What is 0 at the beginning follows, and is no part of the file.
		if follows := n == 6 && len(program) > 0 && program[len(program)-1].to == s.from; own || follows {
			program = append(program, s)
		}
		if own && rights[1] == 'w' {
			variables = append(variables, s)
		}
	}
	return program, variables
}
