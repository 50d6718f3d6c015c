package socket_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net"
	"strings"
	"testing"
)

// The types of records and messages that are used here (RFC 8446, sections 4 and 5.1).
const (
	recordAlert     = 21
	recordHandshake = 22
	recordData      = 23
	keyUpdate       = 24
)

// A recorder is a peer that sends and reads records one by one. Its messages
// need not make sense, and it reads only when a test asks it to.
type recorder struct {
	net.Conn
	in, out half
}

// A half is one direction of it: TLS 1.3 with AES-GCM.
type half struct {
	hash   func() hash.Hash
	size   int // of the key
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	seq    uint64
}

// record does the handshake of a server over a, while other does the client's,
// and returns the server's end.
func record(t testing.TB, ctx context.Context, a net.Conn, config *tls.Config, other secret) *recorder {
	t.Helper()
	var log bytes.Buffer
	config = config.Clone()
	config.KeyLogWriter, config.SessionTicketsDisabled, config.MinVersion = &log, true, tls.VersionTLS13
	s := tls.Server(a, config)
	err := both(ctx, func(context.Context) error { return s.Handshake() }, func(context.Context) error { return other.Handshake() })
	if err != nil {
		t.Fatal(err)
	}
	return recorded(t, a, s.ConnectionState(), &log)
}

// recordClient is record for the client's end, while the server's handshake is done elsewhere. The
// server must send no tickets.
func recordClient(t testing.TB, a net.Conn, config *tls.Config) *recorder {
	t.Helper()
	var log bytes.Buffer
	config = config.Clone()
	config.KeyLogWriter, config.MinVersion = &log, tls.VersionTLS13
	c := tls.Client(a, config)
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	r := recorded(t, a, c.ConnectionState(), &log)
	r.in, r.out = r.out, r.in
	return r
}

// recorded returns the server's end of a connection whose keys are in the log.
func recorded(t testing.TB, a net.Conn, state tls.ConnectionState, log *bytes.Buffer) *recorder {
	t.Helper()
	r := &recorder{Conn: a}
	for _, h := range []*half{&r.in, &r.out} {
		switch suite := state.CipherSuite; suite {
		case tls.TLS_AES_128_GCM_SHA256:
			h.hash, h.size = sha256.New, 16
		case tls.TLS_AES_256_GCM_SHA384:
			h.hash, h.size = sha512.New384, 32
		default:
			t.Fatalf("there is no %s here to write records with: this needs a processor that has AES", tls.CipherSuiteName(suite))
		}
	}
	for line := range strings.Lines(log.String()) {
		f := strings.Fields(line)
		key, err := hex.DecodeString(f[2])
		if err != nil {
			t.Fatal(err)
		}
		switch f[0] {
		case "CLIENT_TRAFFIC_SECRET_0":
			r.in.use(key)
		case "SERVER_TRAFFIC_SECRET_0":
			r.out.use(key)
		}
	}
	return r
}

// use sets the secret (RFC 8446, section 7.3).
func (h *half) use(secret []byte) {
	block, err := aes.NewCipher(h.expand(secret, "key", h.size))
	if err != nil {
		panic(err)
	}
	if h.aead, err = cipher.NewGCM(block); err != nil {
		panic(err)
	}
	h.secret, h.iv, h.seq = secret, h.expand(secret, "iv", 12), 0
}

// next sets the secret that follows (section 7.2).
func (h *half) next() { h.use(h.expand(h.secret, "traffic upd", len(h.secret))) }

func (h *half) expand(secret []byte, label string, size int) []byte {
	label = "tls13 " + label
	info := fmt.Sprintf("\x00%c%c%s\x00", size, len(label), label)
	key, err := hkdf.Expand(h.hash, secret, info, size)
	if err != nil {
		panic(err)
	}
	return key
}

func (h *half) nonce() []byte {
	n := bytes.Clone(h.iv)
	tail := n[len(n)-8:]
	binary.BigEndian.PutUint64(tail, binary.BigEndian.Uint64(tail)^h.seq)
	h.seq++
	return n
}

// seal returns a record.
func (r *recorder) seal(kind byte, data string) []byte {
	inner := append([]byte(data), kind)
	head := binary.BigEndian.AppendUint16([]byte{recordData, 3, 3}, uint16(len(inner)+16))
	return r.out.aead.Seal(head, r.out.nonce(), inner, head)
}

// update returns a change of keys that requests one in return, and makes the
// change.
func (r *recorder) update() []byte {
	b := r.seal(recordHandshake, string([]byte{keyUpdate, 0, 0, 1, 1}))
	r.out.next()
	return b
}

// open reads a record.
func (r *recorder) open() (kind byte, data []byte, err error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, nil, err
	}
	body := make([]byte, binary.BigEndian.Uint16(head[3:]))
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, fmt.Errorf("within a record: %w", err)
	}
	inner, err := r.in.aead.Open(nil, r.in.nonce(), body, head)
	if err != nil {
		return 0, nil, err
	}
	last := len(inner) - 1
	if kind = inner[last]; kind == recordHandshake && inner[0] == keyUpdate {
		r.in.next()
	}
	return kind, inner[:last], nil
}

// hear reads records until an alert or the end. It returns their data, the
// number of changes of keys, and the alert.
func (r *recorder) hear(atLeast int) (data []byte, updates int, alert []byte, err error) {
	for {
		kind, b, err := r.open()
		switch {
		case err != nil:
			return data, updates, nil, err
		case kind == recordData:
			data = append(data, b...)
		case kind == recordHandshake:
			updates++
		default:
			return data, updates, b, nil
		}
		if atLeast > 0 && len(data) >= atLeast {
			return data, updates, nil, nil
		}
	}
}
