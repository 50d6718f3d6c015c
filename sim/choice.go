package sim

// This file has the choices of a run: all that a seed decides while a body runs.
//
// The law: a choice has a key of its purpose, its place and its number at that place,
// and its value is a function of the seed and the key alone. So one more choice here
// changes none elsewhere, and a list of keys and values repeats a run. The value 0 is
// always the plain one: the thing that has been ready for longest, no fault, no
// delay. So a list needs only the choices that are not zero, and a shorter list is a
// simpler run.

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// A purpose is what a choice, or a stream of random numbers, is for.
type purpose uint8

const (
	forClock    purpose = iota + 1 // the time of day at which the clocks start
	forOrder                       // which of the ready things runs next
	forBody                        // the numbers of Rand
	forConfig                      // what is fixed for a whole run: its strategy, which faults it may have
	forChoose                      // Choose
	forHold                        // for how many turns a ready task is passed over
	forStall                       // for how long a ready task is late
	forFault                       // when a fault strikes, which, whom, and for how long
	forPacket                      // what is lost, duplicated or overtaken on a link
	forDisk                        // errors of a disk, and what survives a power failure
	forStream                      // short reads and short writes
	forLatency                     // how long a message takes
	forCallback                    // which of the ready things runs next, if it is a callback
	forPoll                        // for how long an idle loop sleeps too long
	forSync                        // how long a Sync of a disk takes
)

// A kindOfChoice is how a purpose is written.
type kindOfChoice struct {
	purpose purpose
	letter  byte
	words   string
}

// purposes are the purposes of choices in the order in which shrinking tries to do
// without them: faults, then the schedule, then latencies, then what the body chooses.
var purposes = []kindOfChoice{
	{forFault, 'f', "a fault"},
	{forDisk, 'd', "the disk"},
	{forPacket, 'p', "a packet"},
	{forPoll, 'w', "a loop wakes up late"},
	{forStall, 's', "a task is late"},
	{forHold, 'h', "a task is passed over"},
	{forOrder, 'o', "a task runs earlier"},
	{forCallback, 'c', "a callback runs earlier"},
	{forStream, 't', "a short read or write"},
	{forLatency, 'l', "a latency"},
	{forSync, 'y', "a Sync takes long"},
	{forChoose, 'b', "Choose"},
}

// rank returns the place of p in purposes, or -1.
func (p purpose) rank() int {
	return slices.IndexFunc(purposes, func(k kindOfChoice) bool { return k.purpose == p })
}

// A key names a choice. Place says where it is made: a host, a link, or a task, by
// numbers that are the same in each run that gets there.
type key struct {
	purpose purpose
	ordinal uint32 // how many choices of this purpose were made at this place before
	place   uint64
}

// A choice is a key with its value, which is never 0.
type choice struct {
	key
	value uint64
}

// choices makes the choices of one run: from a seed, or from a list, or, for Explore,
// along a path. It belongs to the run's goroutines, one at a time.
type choices struct {
	seed    uint64
	given   map[key]uint64 // the list to repeat; nil: the seed decides
	walk    *walk          // the path of Explore; nil: there is none
	rough   bool           // whether things may be late; see late.go
	now     func() int64   // virtual time
	records bool           // whether made is kept
	made    []choice       // those that were not zero, in the order in which they were made
	sources map[key]*source
	account *account // is told of each choice that is not zero, if records is set

	// For the account, about the choice that is being made.
	who    uint64   // the task that it is made for
	before []uint64 // what had been ready for longer
}

// newChoices returns the choices of a seed.
func newChoices(seed uint64) *choices { return &choices{seed: seed} }

// repeat makes c repeat the choices in the list, and none else.
func (c *choices) repeat(list []choice) {
	c.given = make(map[key]uint64, len(list))
	for _, one := range list {
		c.given[one.key] = one.value
	}
}

// drawn reports whether the seed decides.
func (c *choices) drawn() bool { return c.given == nil && c.walk == nil }

// A source makes the choices of one purpose at one place, one after the other.
// What makes many choices keeps it.
type source struct {
	choices *choices
	next    key
}

// at returns the source of a purpose at a place. It is the same one each time.
func (c *choices) at(p purpose, place uint64) *source {
	k := key{purpose: p, place: place}
	s := c.sources[k]
	if s == nil {
		s = &source{choices: c, next: k}
		if c.sources == nil {
			c.sources = make(map[key]*source)
		}
		c.sources[k] = s
	}
	return s
}

// draw makes the next choice. from makes it of 64 random bits, and returns 0 for the
// plain one. A value of a list may be one that from never returns, because the run
// that it is from was another one: the caller must bear that.
func (s *source) draw(from func(random uint64) uint64) uint64 {
	k := s.next
	s.next.ordinal++
	return s.choices.draw(k, from)
}

// pick makes the next choice among n things, each as likely as the others.
func (s *source) pick(n int) int {
	if w := s.choices.walk; w != nil {
		return w.pick(n)
	}
	v := s.draw(func(random uint64) uint64 { return scale(random, uint64(n)) })
	return int(min(v, uint64(n-1)))
}

// rarely makes the next choice: whether a thing happens that happens in so many of a
// million cases.
func (s *source) rarely(millionths int) bool {
	return s.draw(func(random uint64) uint64 {
		if scale(random, 1e6) < uint64(millionths) {
			return 1
		}
		return 0
	}) != 0
}

// draw makes the choice k.
func (c *choices) draw(k key, from func(random uint64) uint64) uint64 {
	var v uint64
	switch {
	case c.given != nil:
		v = c.given[k]
	case c.walk == nil:
		v = from(c.bits(k))
	}
	c.note(k, v)
	return v
}

// note records a choice that was made.
func (c *choices) note(k key, v uint64) {
	if v == 0 || !c.records {
		return
	}
	c.made = append(c.made, choice{k, v})
	if c.account != nil {
		c.account.note(choice{k, v}, c.who, c.before)
		c.who, c.before = 0, nil
	}
}

// bits returns the random bits of a choice.
func (c *choices) bits(k key) uint64 {
	return mix(mix(c.seed^mix(uint64(k.purpose)<<32|uint64(k.ordinal))) ^ mix(k.place))
}

// config returns random bits that decide something for the whole run. Shrinking leaves
// it alone, so it may say how likely something is, and not that it happens.
func (c *choices) config(what uint64) uint64 {
	return c.bits(key{purpose: forConfig, place: what})
}

// scale returns a number below n that is as likely as all others if the bits are
// random.
func scale(random, n uint64) uint64 {
	high, _ := bits.Mul64(random, n)
	return high
}

// errList is what is wrong with a list that cannot be read.
var errList = errors.New("want choices as o1.2=3, with commas between them")

// formatChoices writes a list as "o1.2=3,l5.0=40000": the purpose's letter, the place,
// the ordinal and the value. An empty list is "-".
func formatChoices(list []choice) string {
	if len(list) == 0 {
		return "-"
	}
	var b []byte
	for i, c := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, purposes[c.purpose.rank()].letter)
		b = strconv.AppendUint(b, c.place, 36)
		b = append(b, '.')
		b = strconv.AppendUint(b, uint64(c.ordinal), 10)
		b = append(b, '=')
		b = strconv.AppendUint(b, c.value, 10)
	}
	return string(b)
}

// parseChoices reads what formatChoices wrote. The list is never nil.
func parseChoices(s string) ([]choice, error) {
	list := []choice{}
	if s == "-" {
		return list, nil
	}
	for field := range strings.SplitSeq(s, ",") {
		i := slices.IndexFunc(purposes, func(p kindOfChoice) bool { return field != "" && p.letter == field[0] })
		if i < 0 {
			return nil, errList
		}
		name, value, _ := strings.Cut(field[1:], "=")
		place, ordinal, _ := strings.Cut(name, ".")
		c := choice{key: key{purpose: purposes[i].purpose}}
		var n uint64
		var e1, e2, e3 error
		c.place, e1 = strconv.ParseUint(place, 36, 64)
		n, e2 = strconv.ParseUint(ordinal, 10, 32)
		c.value, e3 = strconv.ParseUint(value, 10, 64)
		if errors.Join(e1, e2, e3) != nil || c.value == 0 {
			return nil, fmt.Errorf("%q: %w", field, errList)
		}
		c.ordinal = uint32(n)
		list = append(list, c)
	}
	return list, nil
}
