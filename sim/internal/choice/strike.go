package choice

// A fault is one choice, so shrinking removes faults one by one. Its value holds all of it:
// shrinking clears the bits that make a fault late or long.

import (
	"fmt"
	"math/bits"
	"time"
)

// A Fault is a kind of fault.
type Fault uint8

// The kinds of faults, in the order of fault.Rates.
const (
	Partition Fault = iota
	Crash
	PowerFail
	Pause
	ClockSkew
	DiskFault
	Outage
	LinkFault
	Slow
	BitRot
	LostWrite
	MisdirectedWrite
	LyingSync
	TornRename
	NoDescriptors
	WrongNames
	Faults // how many there are
)

// struckBy says what each kind of fault does to a host.
var struckBy = [Faults]string{
	"a partition cut off %s", "%s crashed", "%s lost power", "%s paused", "the clock of %s went wrong", "the disk of %s failed",
	"several hosts lost power, among them %s", "a link of %s failed", "%s was slow", "a bit on the disk of %s flipped",
	"the disk of %s lost a write", "a write to the disk of %s went to a wrong place", "Syncs of the disk of %s lied",
	"power failures of %s tore renames", "%s had no descriptors left", "%s got wrong addresses for names",
}

// Strike says what the fault with a value does to a host, or returns "" for a value of a list
// that is none.
func Strike(value uint64, host string) string {
	kind := value&KindBits - 1
	if kind >= uint64(Faults) {
		return ""
	}
	return fmt.Sprintf(struckBy[kind], host)
}

// The parts of the value of a fault, from its lowest bits.
const (
	KindBits   = 0xff // the kind of the fault, plus one
	WhomShift  = 8    // the host that it strikes
	LongShift  = 24   // how long it lasts
	HowShift   = 40   // in which way it strikes
	DelayShift = 48   // the delay after the event that it is tied to
)

// PackDelay writes a time in 16 bits: ten for a number, and six for how far it is shifted.
// It rounds up.
func PackDelay(d time.Duration) uint64 {
	shift := max(0, bits.Len64(uint64(d))-10)
	n := (uint64(d) + 1<<shift - 1) >> shift
	if n == 1<<10 {
		n, shift = n>>1, shift+1
	}
	return n<<6 | uint64(shift)
}

// UnpackDelay returns the time that PackDelay has written.
func UnpackDelay(v uint64) time.Duration { return time.Duration(v>>6) << min(v&63, 40) }
