package disk

import (
	"io/fs"
	"slices"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

// sector is what a disk writes whole or not at all.
const sector = 512

// An inode is a file.
type inode struct {
	data    []byte
	durable []byte // what is certainly there
	writes  []write
	added   uint64 // how many writes there have been
	mode    fs.FileMode
	changed time.Time
}

// A write is one that was not synced; with cut, the file was cut or extended to a
// length; with grows, it has at least that length, although its bytes went astray.
type write struct {
	at    int64
	data  []byte
	cut   bool
	grows bool
	lost  bool // a Sync of it has failed, so no later one makes it certain

	number uint64 // which one it is of the file; 0 for a part of an earlier one
}

// add adds a write.
func (n *inode) add(w write) {
	n.added++
	w.number = n.added
	n.writes = append(n.writes, w)
}

// survivors returns the bytes of a file that survive a power failure.
func (n *inode) survivors(draws *choice.Source) []byte {
	left := slices.Clone(n.durable)
	for _, w := range n.writes {
		if w.cut {
			if draws.Pick(2) == 0 {
				left = resized(left, w.at)
			}
			continue
		}
		if w.grows {
			if draws.Pick(2) == 0 {
				left = resized(left, max(w.at, int64(len(left))))
			}
			continue
		}
		// 0: all of it survives; 1: nothing; else each sector as its bit says.
		fate := draws.Draw(func(random uint64) uint64 {
			if random&3 < 2 {
				return random & 1
			}
			return random | 2
		})
		for from := 0; from < len(w.data); {
			end := min(len(w.data), from+sector-int((w.at+int64(from))%sector))
			if fate == 0 || fate > 1 && choice.Mix(fate+uint64(from))&1 == 0 {
				at := w.at + int64(from)
				if need := at + int64(end-from); need > int64(len(left)) {
					left = resized(left, need)
				}
				copy(left[at:], w.data[from:end])
			}
			from = end
		}
	}
	return left
}

func resized(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

// without returns what the lost writes still decide after the bytes from at to end were
// made certain: nothing about these.
func without(lost []write, at, end int64) (left []write) {
	for _, w := range lost {
		over := w.at + int64(len(w.data))
		switch {
		case w.cut && w.at >= end, !w.cut && (over <= at || w.at >= end):
			left = append(left, w)
			continue
		case w.cut:
			continue
		}
		if w.at < at {
			left = append(left, write{at: w.at, data: w.data[:at-w.at], lost: true})
		}
		if over > end {
			left = append(left, write{at: end, data: w.data[end-w.at:], lost: true})
		}
	}
	return left
}
