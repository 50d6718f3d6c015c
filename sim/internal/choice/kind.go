package choice

import "slices"

// A Purpose is what a choice, or a stream of random numbers, is for.
type Purpose uint8

const (
	ForClock     Purpose = iota + 1 // the time of day at which the clocks start
	ForOrder                        // which of the ready things runs next
	ForBody                         // the numbers of Rand
	forConfig                       // what is fixed for a whole run: its strategy, which faults it may have
	ForChoose                       // Choose
	ForHold                         // for how many turns a ready task is passed over
	ForStall                        // for how long a ready task is late
	ForFault                        // when a fault strikes, which, whom, and for how long
	ForPacket                       // what is lost, duplicated or overtaken on a link
	ForDisk                         // errors of a disk, and what survives a power failure
	ForStream                       // short reads and short writes
	ForLatency                      // how long a message takes
	ForCallback                     // which of the ready things runs next, if it is a callback
	ForPoll                         // for how long an idle loop sleeps too long
	ForSync                         // how long a Sync of a disk takes
	ForShare                        // whether a task gives the others a turn at an operation
	ForShrinking                    // what a search changes
	purposes                        // one more than the last
)

// A Kind is how a purpose is written.
type Kind struct {
	purpose Purpose
	letter  byte
	Words   string
}

// Kinds are the purposes of choices in the order in which shrinking tries to do
// without them: faults, then the schedule, then latencies, then what the body chooses.
var Kinds = []Kind{
	{ForFault, 'f', "a fault"},
	{ForDisk, 'd', "the disk"},
	{ForPacket, 'p', "a packet"},
	{ForPoll, 'w', "a loop wakes up late"},
	{ForStall, 's', "a task is late"},
	{ForHold, 'h', "a task is passed over"},
	{ForShare, 'g', "a task gives others a turn"},
	{ForOrder, 'o', "a task runs earlier"},
	{ForCallback, 'c', "a callback runs earlier"},
	{ForStream, 't', "a short read or write"},
	{ForLatency, 'l', "a latency"},
	{ForSync, 'y', "a Sync takes long"},
	{ForChoose, 'b', "Choose"},
}

// inexact are the purposes of choices that a run does without in which nothing is late, and then
// those by which tasks run in another order.
var inexact = []Purpose{ForPoll, ForStall, ForHold, ForShare, ForOrder, ForCallback}

// Rank returns the place of p in purposes, or -1.
func (p Purpose) Rank() int {
	return slices.IndexFunc(Kinds, func(k Kind) bool { return k.purpose == p })
}

// The places of choices that belong to no host.
const (
	HostOrder    = 1<<48 + iota // which host runs next
	HostSteps                   // whether a busy host lets others go first
	OffloadOrder                // which function that was offloaded runs next
	EarlyOrder                  // whether one returns while its loop is busy
	ErrandOrder                 // what goroutines do with sockets at one instant
	SignalOrder  = 1 << 49      // plus a host: which of its signals is taken next
)

// DiskPlace is a part of the places of the faults that strike when a disk is changed.
const DiskPlace = 1 << 40

// DriftPlace is a part of the places at which hosts get the rates of their clocks.
const DriftPlace = 1 << 41

// The questions of config: what a seed decides once, for a whole run.
const (
	ConfigLate = iota + 1
	ConfigFaults
	ConfigNetwork
	ConfigDisk
	ConfigHosts
	ConfigOffloads
	ConfigShares
)
