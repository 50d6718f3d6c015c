package poll

import "sync/atomic"

// A wakeFlag decides, between one Poll and any number of Wakes, who has to act.
// It is in one of three states, and each change is one atomic step:
//
//	awake      nobody sleeps, no signal
//	sleeping   a Poll sleeps or is about to, no signal
//	signalled  Wake was called; the next Poll takes the signal
//
// The Wake that turns sleeping into signalled, and only that one, must wake the
// sleeper. It may do so late, after the sleep has ended for another reason, so
// a backend must accept a wake-up without a cause.
type wakeFlag struct{ state atomic.Uint32 }

const (
	awake uint32 = iota
	sleeping
	signalled
)

// set is Wake's part. It reports whether there is a sleeper to wake. If the
// flag is signalled already, it costs one load: the Poll that takes the signal
// later also sees everything that was done before this call.
func (w *wakeFlag) set() bool {
	return w.state.Load() != signalled && w.state.Swap(signalled) == sleeping
}

// take is for a Poll that does not sleep. It reports whether there was a
// signal, and clears it.
func (w *wakeFlag) take() bool {
	if w.state.Load() != signalled {
		return false
	}
	w.state.Store(awake)
	return true
}

// sleepBegin is called before a sleep. It returns false, and clears the signal,
// if there is one: then Poll must not sleep.
func (w *wakeFlag) sleepBegin() bool {
	if w.state.CompareAndSwap(awake, sleeping) {
		return true
	}
	w.state.Store(awake)
	return false
}

// asleep reports whether no signal has come since sleepBegin.
func (w *wakeFlag) asleep() bool { return w.state.Load() == sleeping }

// sleepEnd ends a sleep. It reports whether a signal has come meanwhile.
func (w *wakeFlag) sleepEnd() bool { return w.state.Swap(awake) == signalled }
