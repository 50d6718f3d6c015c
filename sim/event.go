package sim

// This file has what will happen in a cluster, in the order of time. An event is a
// part of the thing that it happens to, so setting one allocates nothing, and it can be
// moved and dropped.

// An occurrence is something that can happen.
type occurrence interface{ happen() }

// A moment is when something happens next. The zero moment is never.
type moment struct {
	what  occurrence
	at    int64
	set   uint64 // of equals, the one that was set first is first
	place int    // in the heap, plus one; 0: it is not set
}

// moments is a heap of moments by time.
type moments struct {
	heap []*moment
	sets uint64
}

func (h *moments) first() *moment {
	if len(h.heap) == 0 {
		return nil
	}
	return h.heap[0]
}

// put makes m happen at the given time, and at no other.
func (h *moments) put(m *moment, at int64) {
	h.sets++
	m.at, m.set = at, h.sets
	if m.place == 0 {
		h.heap = append(h.heap, m)
		m.place = len(h.heap)
	}
	h.down(h.up(m.place - 1))
}

// drop makes m not happen.
func (h *moments) drop(m *moment) {
	if m.place == 0 {
		return
	}
	i, last := m.place-1, len(h.heap)-1
	m.place = 0
	moved := h.heap[last]
	h.heap[last] = nil
	h.heap = h.heap[:last]
	if i < last {
		h.heap[i], moved.place = moved, i+1
		h.down(h.up(i))
	}
}

func (h *moments) before(i, j int) bool {
	a, b := h.heap[i], h.heap[j]
	return a.at < b.at || a.at == b.at && a.set < b.set
}

func (h *moments) swap(i, j int) {
	a, b := h.heap[i], h.heap[j]
	h.heap[i], h.heap[j], a.place, b.place = b, a, j+1, i+1
}

func (h *moments) up(i int) int {
	for i > 0 && h.before(i, (i-1)/2) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

func (h *moments) down(i int) {
	for {
		least := i
		for _, below := range [2]int{2*i + 1, 2*i + 2} {
			if below < len(h.heap) && h.before(below, least) {
				least = below
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}
