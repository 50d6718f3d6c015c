package goinspect

// This file serves many small reads of a live process in few and large ones. The
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
	order  []*Request // by address
	groups []stretch
	local  []unix.Iovec
	remote []unix.RemoteIovec
	room   []byte
}

// A stretch is memory that is read at once, for some requests.
type stretch struct {
	requests []*Request
	start    uint64
	data     []byte // that of the request, if there is one only
}

func (l *live) ReadMany(requests []Request) {
	v := &l.batch
	v.order = v.order[:0]
	for i := range requests {
		r := &requests[i]
		// A request for nothing is always served.
		r.OK = len(r.Data) == 0
		if !r.OK && r.Addr+uint64(len(r.Data)) > r.Addr {
			v.order = append(v.order, r)
		}
	}
	byAddr := func(a, b *Request) int { return cmp.Compare(a.Addr, b.Addr) }
	if !slices.IsSortedFunc(v.order, byAddr) {
		slices.SortFunc(v.order, byAddr)
	}
	for left := v.order; len(left) > 0; {
		left = v.join(left)
		l.readStretches(v.groups)
	}
	clear(v.order)
	clear(v.groups)
}

// join makes stretches of requests that are in the order of their addresses, as many
// as one call takes, and returns the requests that are left.
func (v *vectors) join(left []*Request) []*Request {
	if v.room == nil {
		v.room = make([]byte, roomForStretches)
	}
	room := v.room
	v.groups = v.groups[:0]
	for len(left) > 0 && len(v.groups) < most {
		start, end, n := left[0].Addr, left[0].Addr+uint64(len(left[0].Data)), 1
		for n < len(left) && left[n].Addr/pageSize <= (end-1)/pageSize+1 {
			to := max(end, left[n].Addr+uint64(len(left[n].Data)))
			if to-start > longestStretch {
				break
			}
			end, n = to, n+1
		}
		s := stretch{requests: left[:n], start: start, data: left[0].Data}
		if n > 1 {
			if uint64(len(room)) < end-start {
				return left
			}
			s.data, room = room[:end-start], room[end-start:]
		}
		v.groups = append(v.groups, s)
		left = left[n:]
	}
	return left
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
		n, err := unix.ProcessVMReadv(l.pid, v.local, v.remote, 0)
		if err != nil {
			n = 0
		}
		done := 0
		for done < len(groups) && n >= len(groups[done].data) {
			n -= len(groups[done].data)
			groups[done].serve()
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
func (s *stretch) serve() {
	for _, r := range s.requests {
		if len(s.requests) > 1 {
			copy(r.Data, s.data[r.Addr-s.start:])
		}
		r.OK = true
	}
}

// readEach serves the requests of a stretch that could not be read as a whole.
func (l *live) readEach(s stretch) {
	if len(s.requests) > 1 {
		for _, r := range s.requests {
			r.OK = l.Read(r.Addr, r.Data) == nil
		}
	}
}
