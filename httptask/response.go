package httptask

// The response is kept in memory until net/http gets it.
//
// The law: what net/http gets, and so what it sends, is the same as if the handler had
// called it directly. It has a buffer of its own, and the pieces in which that fills
// show in the chunks it sends; so it gets the bytes in just those pieces.

import (
	"net/http"
	"strconv"
	"sync"
)

const (
	keep     = 16 << 10 // how many bytes stay in memory
	netsOwn  = 2048     // the buffer of net/http's responses
	capacity = 4 << 10  // of a buffer at first
)

// A response is guarded by the mutex of its exchange; and what is kept, when the lane
// for writing is busy, by that.
type response struct {
	started  bool // a status has been sent, or an answer begun
	bodyless bool // the status allows no body
	direct   bool // nothing is kept: a write has failed
	hijacked bool
	length   int64 // what Content-Length promises, or -1
	written  int64

	kept *[]byte
	head bool  // net/http's buffer has been full, or flushed: it has made the head
	cuts []int // where in kept the pieces end
	held int   // what net/http's buffer has by then
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, capacity); return &b }}

// begin notes that the answer has begun with a status.
func (r *response) begin(status int, header http.Header) {
	r.started = true
	r.bodyless = status >= 100 && status <= 199 || status == http.StatusNoContent || status == http.StatusNotModified
	if text := header.Get("Content-Length"); text != "" {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
			r.length = n
		}
	}
}

// takes reports whether n more bytes can be kept. If not, net/http decides what
// becomes of them.
func (r *response) takes(n int) bool {
	if !r.started || r.bodyless || r.direct || r.hijacked || r.length >= 0 && r.written+int64(n) > r.length {
		return false
	}
	return n <= keep && (r.kept == nil || len(*r.kept)+n <= keep)
}

// add keeps p, and notes the pieces in which net/http's buffer fills.
func add[T []byte | string](r *response, p T) {
	if r.kept == nil {
		r.kept = buffers.Get().(*[]byte)
	}
	at := len(*r.kept)
	*r.kept = append(*r.kept, p...)
	r.written += int64(len(p))
	r.fill(at, len(p), whole(p))
}

// whole reports whether bufio.Writer passes on p, if it is large, in one piece. It does
// so with bytes only.
func whole[T []byte | string](p T) bool {
	_, ok := any(p).([]byte)
	return ok
}

// fill does with n bytes at a place what bufio.Writer does, and notes the cuts.
func (r *response) fill(at, n int, whole bool) {
	for n > netsOwn-r.held {
		r.head = true
		if r.held == 0 && whole {
			r.cuts = append(r.cuts, at+n)
			return
		}
		at, n = at+netsOwn-r.held, n-(netsOwn-r.held)
		r.held = 0
		r.cuts = append(r.cuts, at)
	}
	r.held += n
}

// emit gives what is kept to net/http. If that fails, nothing is kept any more. The lane for
// writing is the caller's.
func (r *response) emit(w http.ResponseWriter) error {
	if r.kept == nil || len(*r.kept) == 0 {
		return nil
	}
	rest, at := *r.kept, 0
	cuts := r.cuts
	*r.kept, r.cuts = rest[:0], cuts[:0]
	for _, cut := range cuts {
		if _, err := w.Write(rest[at:cut]); err != nil {
			r.direct = true
			return err
		}
		at = cut
	}
	if at == len(rest) {
		return nil
	}
	_, err := w.Write(rest[at:])
	r.direct = r.direct || err != nil
	return err
}

// release returns the buffer.
func (r *response) release() {
	if r.kept != nil {
		*r.kept = (*r.kept)[:0]
		buffers.Put(r.kept)
		r.kept = nil
	}
}
