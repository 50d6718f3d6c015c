package record

// What a run sends, writes and hands over is a part of what it does: two runs that do the same
// things with other bytes are not the same.
//
// The law: the sum of a content is the same in each process. It has what a program can compare
// and no address, so what stands behind a pointer, in a map or in a function is not in it; nor is
// a time, which may be that of the machine and matter to nobody but a log.

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"reflect"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

var table = crc32.MakeTable(crc32.Castagnoli)

// Carries notes the bytes that go with the last event.
func (t *Trace) Carries(data []byte) {
	if t == nil || t.deaf() {
		return
	}
	t.carries(crc32.Checksum(data, table), data)
	t.explain(data)
}

// Wrote adds that a host has written data to a file of its disk.
//
//go:noinline
func (t *Trace) Wrote(now int64, host uint64, name string, at int64, data []byte) {
	if t == nil || t.deaf() {
		return
	}
	t.Add(Event{Now: now, Who: host << 32, What: name, N: int32(len(data)), Kind: Wrote})
	var where [8]byte
	binary.LittleEndian.PutUint64(where[:], uint64(at))
	t.carries(crc32.Update(crc32.Checksum(where[:], table), table, data), data)
	t.explain(data)
}

// Put adds that v was put into a queue on a host.
func (t *Trace) Put(now int64, host uint64, v any) {
	if t == nil || t.deaf() {
		return
	}
	t.Add(Event{Now: now, Who: host << 32, Kind: Put})
	sum, content := contentOf(v)
	t.carries(sum, content)
	if t.Draws && len(t.Events) > 0 {
		t.Events[len(t.Events)-1].Data = text(v)
	}
}

// carries adds a sum to the last event. text is for a report that it differs.
func (t *Trace) carries(sum uint32, text []byte) {
	t.Hash = choice.Mix(t.Hash ^ uint64(sum))
	i := t.Count - 1
	if t.Keep && i < len(t.Events) {
		t.Events[i].Sum = sum
	}
	if f := t.Follows; f != nil && t.differs == "" && i < len(f.Events) && f.Events[i].Sum != sum {
		const most = 60
		t.differs = fmt.Sprintf("at event %d both times %v, but not with the same content: the second time it is %.*q", i+1, f.Events[i], most, text)
	}
}

// contentOf returns the sum of a value, and what to say of it.
func contentOf(v any) (sum uint32, text []byte) {
	switch v := v.(type) {
	case nil:
		return 0, nil
	case string:
		text = []byte(v)
	case []byte:
		text = v
	default:
		text = appendValue(nil, reflect.ValueOf(v), 0)
		return crc32.Checksum(text, table), fmt.Appendf(nil, "a %T", v)
	}
	return crc32.Checksum(text, table), text
}

// How much of a value is summed up.
const (
	depthMost   = 6
	elementMost = 256
)

var timeType = reflect.TypeFor[time.Time]()

// appendValue appends what a program can compare of v.
func appendValue(b []byte, v reflect.Value, depth int) []byte {
	if depth > depthMost {
		return b
	}
	number := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(b, n) }
	switch k := v.Kind(); {
	case k == reflect.String:
		return append(number(uint64(v.Len())), v.String()...)
	case k == reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case k == reflect.Uintptr: // perhaps an address
		return b
	case v.CanInt():
		return number(uint64(v.Int()))
	case v.CanUint():
		return number(v.Uint())
	case v.CanFloat():
		return number(math.Float64bits(v.Float()))
	case v.CanComplex():
		c := v.Complex()
		b = number(math.Float64bits(real(c)))
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(imag(c)))
	case k == reflect.Interface && !v.IsNil():
		return appendValue(append(b, v.Elem().Type().String()...), v.Elem(), depth+1)
	case k == reflect.Struct && v.Type() != timeType:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i), depth+1)
		}
	case k == reflect.Array, k == reflect.Slice:
		b = number(uint64(v.Len()))
		for i := range min(v.Len(), elementMost) {
			b = appendValue(b, v.Index(i), depth+1)
		}
	}
	return b
}
