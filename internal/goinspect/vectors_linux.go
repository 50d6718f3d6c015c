package goinspect

// Many small reads of a live process are done in few and large ones. The
// kernel looks up the pages of each stretch that it is asked for, which costs some
// 500 ns however short that is. So requests that lie on the same pages, or on pages
// next to each other, are one stretch. A page that nobody asked for is never touched.

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	// most is how many stretches one call of process_vm_readv takes (IOV_MAX).
	most = 1024
	// longestStretch bounds how much is read as one stretch, and roomForStretches how
	// much of those that serve several requests is read in one call.
	longestStretch   = 64 << 10
	roomForStretches = 1 << 20
)

// vectors are what a call of process_vm_readv takes. They are kept for the next one.
type vectors struct {
	requests []Request
	order    []placed // the requests by address
	groups   []stretch
	local    []unix.Iovec
	remote   []unix.RemoteIovec
	room     []byte
}

// placed is the address of the request with a number. It has no pointer, so that many
// are sorted quickly.
type placed struct {
	addr   uint64
	number int32
}

// A stretch is memory that is read at once, for some requests.
type stretch struct {
	from, to int // in vectors.order
	start    uint64
	data     []byte // that of the request, if there is one only
}

func (l *live) ReadMany(requests []Request) {
	if l.alone || len(l.barred) > 0 {
		for i := range requests {
			requests[i].OK = l.Read(requests[i].Addr, requests[i].Data) == nil
		}
		return
	}
	v := &l.batch
	v.requests, v.order = requests, v.order[:0]
	sorted, last := true, uint64(0)
	for i := range requests {
		r := &requests[i]
		// A request for nothing is always served.
		r.OK = len(r.Data) == 0
		if !r.OK && r.Addr+uint64(len(r.Data)) > r.Addr {
			v.order = append(v.order, placed{r.Addr, int32(i)})
			sorted, last = sorted && last <= r.Addr, r.Addr
		}
	}
	if !sorted {
		slices.SortFunc(v.order, func(a, b placed) int { return cmp.Compare(a.addr, b.addr) })
	}
	for from := 0; from < len(v.order); {
		from = v.join(from)
		l.readStretches(v.groups)
	}
	clear(v.groups)
	v.requests = nil
}

// join makes stretches of the requests from one on, in the order of their addresses,
// as many as one call takes, and returns the first of those that are left.
func (v *vectors) join(from int) int {
	if v.room == nil {
		v.room = make([]byte, roomForStretches)
	}
	room, order := v.room, v.order
	v.groups = v.groups[:0]
	for from < len(order) && len(v.groups) < most {
		first := &v.requests[order[from].number]
		start, end, to := first.Addr, first.Addr+uint64(len(first.Data)), from+1
		for to < len(order) && order[to].addr/pageSize <= (end-1)/pageSize+1 {
			next := max(end, order[to].addr+uint64(len(v.requests[order[to].number].Data)))
			if next-start > longestStretch {
				break
			}
			end, to = next, to+1
		}
		s := stretch{from, to, start, first.Data}
		if to > from+1 {
			if uint64(len(room)) < end-start {
				return from
			}
			s.data, room = room[:end-start], room[end-start:]
		}
		v.groups = append(v.groups, s)
		from = to
	}
	return from
}

// readStretches reads stretches, and serves their requests.
func (l *live) readStretches(groups []stretch) {
	v := &l.batch
	for len(groups) > 0 {
		v.local, v.remote = v.local[:0], v.remote[:0]
		for _, s := range groups {
			local := unix.Iovec{Base: &s.data[0]}
			local.SetLen(len(s.data))
			v.local = append(v.local, local)
			v.remote = append(v.remote, unix.RemoteIovec{Base: uintptr(s.start), Len: len(s.data)})
		}
		n, err := l.readv(v.local, v.remote)
		if err != nil {
			n = 0
		}
		done := 0
		for done < len(groups) && n >= len(groups[done].data) {
			n -= len(groups[done].data)
			v.serve(groups[done])
			done++
		}
		if done < len(groups) {
			// The call stops at the first stretch that cannot be read: go on after it.
			l.readEach(groups[done])
			done++
		}
		groups = groups[done:]
	}
	clear(v.local)
}

// serve fills the requests of a stretch that was read.
func (v *vectors) serve(s stretch) {
	for _, p := range v.order[s.from:s.to] {
		r := &v.requests[p.number]
		if s.to-s.from > 1 {
			copy(r.Data, s.data[r.Addr-s.start:])
		}
		r.OK = true
	}
}

// readEach serves the requests of a stretch that could not be read as a whole.
func (l *live) readEach(s stretch) {
	if s.to-s.from > 1 {
		for _, p := range l.batch.order[s.from:s.to] {
			r := &l.batch.requests[p.number]
			r.OK = l.Read(r.Addr, r.Data) == nil
		}
	}
}
