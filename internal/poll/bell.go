package poll

import "sync/atomic"

// A bell settles between one Poll and any number of Wakes who has to act. It
// holds one of three words, and each change of it is one atomic step:
//
//	awake     nobody sleeps, nobody rang
//	sleeping  a Poll sleeps or is about to, nobody rang
//	rung      somebody rang; the word waits for a Poll to take it
//
// The Wake that turns sleeping into rung, and only that one, must rouse the
// sleeper. It may do so late, after the sleep has ended for another reason, so
// a backend must take being roused for nothing.
type bell struct{ word atomic.Uint32 }

const (
	awake uint32 = iota
	sleeping
	rung
)

// ring is the part of Wake. It reports whether there is a sleeper to rouse. If
// the bell is rung already, it costs a load: whoever takes the word later also
// sees what was done before this ring.
func (b *bell) ring() bool {
	return b.word.Load() != rung && b.word.Swap(rung) == sleeping
}

// take is for a Poll that does not sleep. It reports whether the bell was rung
// and makes it awake.
func (b *bell) take() bool {
	if b.word.Load() != rung {
		return false
	}
	b.word.Store(awake)
	return true
}

// doze says that Poll is about to sleep. It is false, and takes the word, if
// the bell was rung.
func (b *bell) doze() bool {
	if b.word.CompareAndSwap(awake, sleeping) {
		return true
	}
	b.word.Store(awake)
	return false
}

// quiet tells a Poll that dozes whether nobody has rung since.
func (b *bell) quiet() bool { return b.word.Load() == sleeping }

// rise ends a doze. It reports whether the bell was rung meanwhile.
func (b *bell) rise() bool { return b.word.Swap(awake) == rung }

// silence leaves the bell rung for ever, so that no later ring does anything.
func (b *bell) silence() { b.word.Store(rung) }
