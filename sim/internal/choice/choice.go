// Package choice decides what a seed leaves open while a body runs, records each decision,
// repeats a list of them, and shortens such a list.
//
// The law: a choice has a key of its purpose, its place and its number at that place, and
// its value is a function of the seed and the key alone. So one more choice here changes
// none elsewhere, and a list of keys and values repeats a run. The value 0 is always the
// plain one: the thing that has been ready for longest, no fault, no delay. So a list needs
// only the choices that are not zero, and a shorter list is a simpler run.
//
// To add a kind of choice, give it a purpose and a letter in kind.go, and words in
// package picture.
package choice

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A Key names a choice. Place says where it is made: a host, a link, or a task, by
// numbers that are the same in each run that gets there.
type Key struct {
	Purpose Purpose
	Ordinal uint32 // how many choices of this purpose were made at this place before
	Place   uint64
}

// A Choice is a key with its value, which is never 0.
type Choice struct {
	Key
	Value uint64
}

// Choices makes the choices of one run: from a seed, or from a list, or, for Explore,
// along a path. It belongs to the run's goroutines, one at a time.
type Choices struct {
	Seed    uint64
	Given   map[Key]uint64 // the list to repeat; nil: the seed decides
	Changes []byte         // of what the seed decides: a byte for each changeEvery choices; see package search
	bits    int            // how many random numbers were drawn, if there are Changes
	Walk    *Walk          // the path of Explore; nil: there is none
	Rough   bool           // whether a seed may inject delays; see package order
	Shares  bool           // whether a task may give others a turn at any operation; likewise
	Records bool           // whether made is kept
	Made    []Choice       // the choices that are not zero, in the order in which they were made
	fresh   *Fresh         // nil: the choices are those of the seed or of the list
	sources map[Key]*Source

	// told is called with each choice that is not zero, if records is set: with the task
	// for which it was made, and with the things that had been ready for longer.
	Told   func(one Choice, who uint64, before []uint64)
	Who    uint64
	Before []uint64

	// Says is called, if it is set, with the words for the choice that was told last. They get a
	// function that returns the name of a host.
	Says func(words Words)
}

// Words say what a choice has done. host returns the name of a host.
type Words func(host func(number uint64) string) string

// Say gives the choice that was made last its words. The caller must be where that choice was not
// zero, before it makes another one.
func (c *Choices) Say(words Words) {
	if c.Says != nil {
		c.Says(words)
	}
}

// Say gives the choice of s that was made last its words. See Choices.Say.
func (s *Source) Say(words Words) { s.choices.Say(words) }

// New returns the choices of a seed.
func New(seed uint64) *Choices { return &Choices{Seed: seed} }

// Repeat makes c repeat the choices in the list, and none else.
func (c *Choices) Repeat(list []Choice) {
	c.Given = make(map[Key]uint64, len(list))
	c.Shares = false
	for _, one := range list {
		c.Given[one.Key] = one.Value
		c.Shares = c.Shares || one.Purpose == ForShare
	}
}

// A Candidate is what a run of a search does.
type Candidate struct {
	List  []Choice // to repeat, unless there are fresh ones
	Fresh *Fresh
}

// Take makes c do what a candidate says.
func (c *Choices) Take(one Candidate) {
	f := one.Fresh
	if f == nil {
		c.Repeat(one.List)
		return
	}
	c.fresh, c.Changes = f, nil
	c.Rough = c.Rough && f.orders()
	c.Shares = c.Shares && f.share[ForShare] > 0
}

// Renewed reports whether the choices of c are fresh.
func (c *Choices) Renewed() bool { return c.fresh != nil }

// Keeps reports whether the choice k may be another than the plain one, if chance wants it so.
func (c *Choices) Keeps(k Key) bool {
	return c.fresh == nil || c.fresh.keeps(k.Purpose, k.bits(c.fresh.salt()+1))
}

// Orders reports whether the seed decides which of the ready things runs next.
func (c *Choices) Orders() bool { return c.Drawn() && (c.fresh == nil || c.fresh.orders()) }

// Drawn reports whether the seed decides.
func (c *Choices) Drawn() bool { return c.Given == nil && c.Walk == nil }

// A Source makes the choices of one purpose at one place, one after the other.
// What makes many choices keeps it.
type Source struct {
	choices *Choices
	next    Key
}

// At returns the source of a purpose at a place. It is the same one each time.
func (c *Choices) At(p Purpose, place uint64) *Source {
	k := Key{Purpose: p, Place: place}
	s := c.sources[k]
	if s == nil {
		s = &Source{choices: c, next: k}
		if c.sources == nil {
			c.sources = make(map[Key]*Source)
		}
		c.sources[k] = s
	}
	return s
}

// Draw makes the next choice. from makes it of 64 random bits, and returns 0 for the
// plain one. A value of a list may be one that from never returns, because the run
// that it is from was another one: the caller must bear that.
func (s *Source) Draw(from func(random uint64) uint64) uint64 {
	k := s.next
	s.next.Ordinal++
	return s.choices.draw(k, from)
}

// Pick makes the next choice among n things, each as likely as the others.
func (s *Source) Pick(n int) int {
	if w := s.choices.Walk; w != nil {
		return w.pick(n)
	}
	v := s.Draw(func(random uint64) uint64 { return Scale(random, uint64(n)) })
	return int(min(v, uint64(n-1)))
}

// Rarely makes the next choice: whether a thing happens that happens in so many of a
// million cases.
func (s *Source) Rarely(millionths int) bool {
	return s.Draw(func(random uint64) uint64 {
		if Scale(random, 1e6) < uint64(millionths) {
			return 1
		}
		return 0
	}) != 0
}

// draw makes the choice k.
func (c *Choices) draw(k Key, from func(random uint64) uint64) uint64 {
	var v uint64
	switch {
	case c.Given != nil:
		v = c.Given[k]
	case c.Walk == nil:
		if v = from(c.Bits(k)); !c.Keeps(k) {
			v = 0
		}
	}
	c.Note(k, v)
	return v
}

// Note records a choice that was made.
func (c *Choices) Note(k Key, v uint64) {
	if !c.Records {
		return
	}
	if v == 0 {
		c.Who, c.Before = 0, nil
		return
	}
	c.Made = append(c.Made, Choice{k, v})
	if c.Told != nil {
		c.Told(Choice{k, v}, c.Who, c.Before)
		c.Who, c.Before = 0, nil
	}
}

// Bits returns the random bits of a choice.
func (c *Choices) Bits(k Key) uint64 { return k.bits(c.Seed ^ c.change() ^ c.fresh.salt()) }

// changeEvery is how many choices in a row one byte changes.
const changeEvery = 16

// change returns what the next choice is changed by.
func (c *Choices) change() uint64 {
	if len(c.Changes) == 0 {
		return 0
	}
	i := c.bits / changeEvery
	if c.bits++; i >= len(c.Changes) || c.Changes[i] == 0 {
		return 0
	}
	return Mix(uint64(c.Changes[i]))
}

// Stream is the function of that name, with the changes of c.
func (c *Choices) Stream(seed uint64, p Purpose) *rand.Rand {
	r := Stream(seed^c.fresh.salt(), p)
	if len(c.Changes) == 0 {
		return r
	}
	return rand.New(changed{r, c})
}

// changed is a source of random numbers.
type changed struct {
	of *rand.Rand
	by *Choices
}

func (s changed) Uint64() uint64 {
	v, by := s.of.Uint64(), s.by.change()
	if by != 0 {
		v = Mix(v ^ by)
	}
	return v
}

func (k Key) bits(seed uint64) uint64 {
	return Mix(Mix(seed^Mix(uint64(k.Purpose)<<32|uint64(k.Ordinal))) ^ Mix(k.Place))
}

// Config returns random bits that decide something for the whole run. Shrinking leaves
// it alone, so it may say how likely something is, and not that it happens.
func (c *Choices) Config(what uint64) uint64 {
	return Key{Purpose: forConfig, Place: what}.bits(c.Seed)
}

// errList is what is wrong with a list that cannot be read.
var errList = errors.New("want choices as o1.2=3, with commas between them")

// Format writes a list as "o1.2=3,l5.0=40000": the purpose's letter, the place,
// the ordinal and the value. An empty list is "-".
func Format(list []Choice) string {
	if len(list) == 0 {
		return "-"
	}
	var b []byte
	for i, c := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, Kinds[c.Purpose.Rank()].letter)
		b = strconv.AppendUint(b, c.Place, 36)
		b = append(b, '.')
		b = strconv.AppendUint(b, uint64(c.Ordinal), 10)
		b = append(b, '=')
		b = strconv.AppendUint(b, c.Value, 10)
	}
	return string(b)
}

// Parse reads what Format wrote. The list is never nil.
func Parse(s string) ([]Choice, error) {
	list := []Choice{}
	if s == "-" {
		return list, nil
	}
	for field := range strings.SplitSeq(s, ",") {
		i := slices.IndexFunc(Kinds, func(p Kind) bool { return field != "" && p.letter == field[0] })
		if i < 0 {
			return nil, errList
		}
		name, value, _ := strings.Cut(field[1:], "=")
		place, ordinal, _ := strings.Cut(name, ".")
		c := Choice{Key: Key{Purpose: Kinds[i].purpose}}
		var n uint64
		var e1, e2, e3 error
		c.Place, e1 = strconv.ParseUint(place, 36, 64)
		n, e2 = strconv.ParseUint(ordinal, 10, 32)
		c.Value, e3 = strconv.ParseUint(value, 10, 64)
		if errors.Join(e1, e2, e3) != nil || c.Value == 0 {
			return nil, fmt.Errorf("%q: %w", field, errList)
		}
		c.Ordinal = uint32(n)
		list = append(list, c)
	}
	return list, nil
}
