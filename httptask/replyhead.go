package httptask

// The head of a reply: the status line and the header, which says how long the body is,
// what it is, and whether the connection goes on. Each decision is one of net/http's
// server, taken in the same order.

import (
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A pair is a value of a header, or a key without values.
type pair struct {
	key, value string
	empty      bool
	dropped    bool
}

// A fieldSet is a header in the order in which it is sent: sorted by key.
type fieldSet []pair

// freeze copies the header: what the handler changes from now on is not sent.
func (w *reply) freeze() {
	w.frozen = true
	ps := w.x.pairs[:0]
	for k, vs := range w.header {
		for _, v := range vs {
			ps = append(ps, pair{key: k, value: v})
		}
		if len(vs) == 0 {
			ps = append(ps, pair{key: k, empty: true})
		}
	}
	if len(ps) > 1 {
		slices.SortStableFunc(ps, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	}
	w.x.pairs = ps
}

// get returns the first value of a key, and whether the key is there.
func (s fieldSet) get(key string) (value string, has bool) {
	for i := range s {
		if s[i].key == key && !s[i].dropped {
			return s[i].value, true
		}
	}
	return "", false
}

func (s fieldSet) drop(key string) {
	for i := range s {
		if s[i].key == key {
			s[i].dropped = true
		}
	}
}

// addedFields are what net/http adds to the header of a handler.
type addedFields struct {
	length      bool
	contentType string
	connection  string
	chunked     bool
}

// head makes the head of the answer. first is the beginning of the body.
func (w *reply) head(first []byte) {
	w.sent = true
	if !w.frozen {
		w.x.pairs = w.x.pairs[:0]
		if w.asked {
			w.freeze()
		}
	}
	s := fieldSet(w.x.pairs)
	var add addedFields
	trailers := w.announceTrailers(s)
	te, _ := s.get("Transfer-Encoding")
	if _, has := s.get("Content-Length"); w.done && !trailers && te == "" && bodyAllowed(w.status) && !has &&
		(w.req.Method != http.MethodHead || len(first) > 0) {
		w.length, add.length = int64(len(first)), true
	}
	w.decideConnection(s, &add)
	if w.req.ContentLength != 0 && !w.closes && !w.duplex {
		w.discardBody(s, &add)
	}
	w.decideType(s, &add, te, first)
	w.decideFraming(s, &add, te)
	if connection, _ := s.get("Connection"); w.closes && (!w.n.engine.keepsAlive() || !hasToken(connection, "close")) &&
		!(w.status == http.StatusSwitchingProtocols && hasToken(connection, "upgrade")) {
		s.drop("Connection")
		if add.connection = ""; w.req.ProtoAtLeast(1, 1) && !w.tunnels() {
			add.connection = "close"
		}
	}
	w.writeStatus(w.status)
	_, dated := s.get("Date")
	w.writeFields(s)
	w.writeAdded(&add, dated)
}

// announceTrailers notes what the handler has announced to send after the body, and reports
// whether that is anything.
func (w *reply) announceTrailers(s fieldSet) (any bool) {
	for i := range s {
		any = any || strings.HasPrefix(s[i].key, http.TrailerPrefix) // no token, so it is not sent here
		if s[i].key != "Trailer" || s[i].empty {
			continue
		}
		any = true
		for name := range strings.SplitSeq(s[i].value, ",") {
			if name = textproto.TrimString(name); name == "" {
				continue
			}
			if key := http.CanonicalHeaderKey(name); !strings.HasPrefix(key, "If-") && !slices.Contains(noTrailers, key) {
				w.trailers = append(w.trailers, key)
			}
		}
	}
	return any
}

// noTrailers are fields that no trailer may have (RFC 9110, section 6.5.1).
var noTrailers = []string{
	"Authorization", "Cache-Control", "Connection", "Content-Encoding", "Content-Length", "Content-Range",
	"Content-Type", "Expect", "Host", "Keep-Alive", "Max-Forwards", "Pragma", "Proxy-Authenticate",
	"Proxy-Authorization", "Proxy-Connection", "Range", "Realm", "Te", "Trailer", "Transfer-Encoding",
	"Www-Authenticate",
}

// decideConnection decides whether the connection goes on, as far as the header tells.
func (w *reply) decideConnection(s fieldSet, add *addedFields) {
	keeps := w.n.engine.keepsAlive()
	connection, has := s.get("Connection")
	if w.keep10 && (w.req.Method == http.MethodHead || w.length != -1 || !bodyAllowed(w.status)) {
		if !has {
			add.connection = "keep-alive"
		}
	} else if !w.req.ProtoAtLeast(1, 1) || w.wantClose {
		w.closes = true
	}
	if connection == "close" || !keeps {
		w.closes = true
	}
	if w.expect.unasked() || w.expect != nil && w.body.remains() {
		w.closes = true // reading it may cost more than a new connection
	}
	if w.req.Method == http.MethodConnect {
		w.closes = true // what comes next may be meant for the other end of a tunnel
	}
}

// tunnels reports whether the answer says that the connection is a tunnel from here on. It has
// no length and no chunks then (RFC 9110, section 9.3.6).
func (w *reply) tunnels() bool {
	return w.req.Method == http.MethodConnect && w.status >= 200 && w.status < 300
}

// discardBody reads what the handler has left of the body: a client may send all of it
// before it reads the answer.
func (w *reply) discardBody(s fieldSet, add *addedFields) {
	b := w.body
	if b == nil || b.take() != nil {
		w.closes = w.closes || b != nil
		return
	}
	closed, sawEOF, left, cut := b.closed.Load(), b.sawEOF, b.left, b.cut
	b.release()
	switch {
	case cut:
		w.closes = true
	case closed:
		w.closes = w.closes || !sawEOF
	case left >= unreadMax:
		w.closes, w.lingers = true, true
		s.drop("Connection")
		add.connection = "close"
	default:
		err := b.discard(false) // also that it could not wait for another reader
		w.closes = w.closes || err != nil || b.cutOff
	}
}

// decideType finds the type of the body.
func (w *reply) decideType(s fieldSet, add *addedFields, te string, first []byte) {
	if !bodyAllowed(w.status) {
		s.drop("Content-Length")
		s.drop("Transfer-Encoding")
		if w.status == http.StatusNotModified {
			s.drop("Content-Type")
		}
		return
	}
	_, has := s.get("Content-Type")
	if coding, _ := s.get("Content-Encoding"); coding == "" && !has && te == "" && len(first) > 0 {
		add.contentType = http.DetectContentType(first)
	}
}

// decideFraming decides how the client learns where the body ends.
func (w *reply) decideFraming(s fieldSet, add *addedFields, te string) {
	known := w.length != -1
	if known && te != "" && te != "identity" {
		w.n.engine.logf("http: WriteHeader called with both Transfer-Encoding of %q and a Content-Length of %d", te, w.length)
		s.drop("Content-Length")
		known = false
	}
	switch {
	case w.tunnels():
		s.drop("Transfer-Encoding")
		s.drop("Content-Length")
		add.length = false
	case w.req.Method == http.MethodHead || !bodyAllowed(w.status) || known:
		s.drop("Transfer-Encoding")
	case !w.req.ProtoAtLeast(1, 1):
		w.closes = true
		s.drop("Transfer-Encoding")
	case te == "identity":
		w.closes = true
		s.drop("Transfer-Encoding")
	default:
		w.chunked, add.chunked = true, true
		if te == "chunked" {
			s.drop("Transfer-Encoding")
		}
		s.drop("Content-Length")
	}
}

// inform sends an informational answer.
func (w *reply) inform(code int) {
	w.writeStatus(code)
	ps := w.x.pairs
	w.freeze()
	s := fieldSet(w.x.pairs)
	s.drop("Content-Length")
	s.drop("Transfer-Encoding")
	w.writeFields(s)
	w.x.pairs, w.frozen = ps[:0], false
	w.x.out = append(w.x.out, "\r\n"...)
	w.send(nil)
}

// writeTrailers writes the fields after the last chunk.
func (w *reply) writeTrailers() {
	t := http.Header{}
	for k, vs := range w.header {
		if k, found := strings.CutPrefix(k, http.TrailerPrefix); found {
			t[k] = vs
		}
	}
	for _, k := range w.trailers {
		for _, v := range w.header[k] {
			t.Add(k, v)
		}
	}
	var ps fieldSet
	for k, vs := range t {
		for _, v := range vs {
			ps = append(ps, pair{key: k, value: v})
		}
	}
	slices.SortStableFunc(ps, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	w.writeFields(ps)
}

func (w *reply) writeStatus(code int) {
	o := w.x.out
	if w.req.ProtoAtLeast(1, 1) {
		o = append(o, "HTTP/1.1 "...)
	} else {
		o = append(o, "HTTP/1.0 "...)
	}
	o = strconv.AppendInt(o, int64(code), 10)
	if text := http.StatusText(code); text != "" {
		o = append(append(o, ' '), text...)
	} else {
		o = strconv.AppendInt(append(o, " status code "...), int64(code), 10)
	}
	w.x.out = append(o, "\r\n"...)
}

// writeFields writes the fields, without those that no field may be (as Header.Write).
func (w *reply) writeFields(s fieldSet) {
	for i := range s {
		if p := &s[i]; !p.empty && !p.dropped && isToken(p.key) {
			v := p.value
			if strings.ContainsAny(v, "\r\n") {
				v = newlines.Replace(v)
			}
			w.writeField(p.key, textproto.TrimString(v))
		}
	}
}

var newlines = strings.NewReplacer("\n", " ", "\r", " ")

func (w *reply) writeField(k, v string) {
	o := append(append(w.x.out, k...), ": "...)
	w.x.out = append(append(o, v...), "\r\n"...)
}

func (w *reply) writeAdded(add *addedFields, dated bool) {
	if !dated {
		w.x.out = append(append(append(w.x.out, "Date: "...), dateText(w.n.now())...), "\r\n"...)
	}
	if add.length {
		w.x.out = strconv.AppendInt(append(w.x.out, "Content-Length: "...), w.length, 10)
		w.x.out = append(w.x.out, "\r\n"...)
	}
	if add.contentType != "" {
		w.writeField("Content-Type", add.contentType)
	}
	if add.connection != "" {
		w.writeField("Connection", add.connection)
	}
	if add.chunked {
		w.writeField("Transfer-Encoding", "chunked")
	}
	w.x.out = append(w.x.out, "\r\n"...)
}

// A stamp is the text of the header Date of one second.
type stamp struct {
	second int64
	text   []byte
}

var lastStamp atomic.Pointer[stamp]

func dateText(now time.Time) []byte {
	s := lastStamp.Load()
	if s == nil || s.second != now.Unix() {
		s = &stamp{now.Unix(), now.UTC().AppendFormat(nil, http.TimeFormat)}
		lastStamp.Store(s)
	}
	return s.text
}
