package coro_test

// Every short program of Next, Send, Throw, Close and Result is run on every
// small generator, directly and behind one and two YieldFroms, and beside it on
// a model. So the model says what a generator is, and that delegation passes
// everything through.

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/coro"
)

var (
	errThrown = errors.New("thrown")
	errOwn    = errors.New("own")
)

// A retort is what a generator does when its Yield returns an error.
type retort int

const (
	retortReturn retort = iota // returns it
	retortNil                  // returns a value and no error
	retortOwn                  // returns an error of its own
	retortGoOn                 // goes on to the next yield, or the end
	retortPanic
	retorts
)

// A part is a function for a generator: a yield for each pair of retorts, one to
// an error that was thrown and one to ErrClosed. It ends as its last retort
// says, errOwn standing for an error to be returned.
type part struct {
	thrown, closed []retort
	last           retort
}

func (p part) generator(log *strings.Builder, depth int) *coro.Generator[int, int, string] {
	if depth == 0 {
		return coro.NewGenerator(func(y *coro.Yielder[int, int]) (string, error) { return p.play(log, y) })
	}
	return coro.NewGenerator(func(y *coro.Yielder[int, int]) (string, error) {
		return coro.YieldFrom(y, p.generator(log, depth-1))
	})
}

func (p part) play(log *strings.Builder, y *coro.Yielder[int, int]) (string, error) {
	defer log.WriteString("end;")
	for i := range p.thrown {
		s, err := y.Yield(i)
		fmt.Fprintf(log, "%d %v;", s, err)
		act := p.thrown[i]
		switch {
		case err == nil:
			continue
		case err == coro.ErrClosed:
			act = p.closed[i]
		}
		switch act {
		case retortReturn:
			return "", err
		case retortNil:
			return "early", nil
		case retortOwn:
			return "", errOwn
		case retortPanic:
			panic(fmt.Sprint("at ", i))
		}
	}
	switch p.last {
	case retortOwn:
		return "", errOwn
	case retortPanic:
		panic("last")
	}
	return "late", nil
}

// A score is the state that a generator with a part would be in.
type score struct {
	part
	depth  int
	at     int // the pending yield; -1 before the start
	done   bool
	result string
	err    error
	log    strings.Builder
}

// finish ends the generator; the error that its end gives comes back.
func (m *score) finish(result string, err error) error {
	m.done, m.result, m.err = true, result, err
	return err
}

func (m *score) panics(value string) string {
	m.log.WriteString("end;")
	_ = m.finish("", fmt.Errorf("coro: generator panicked: %s", value))
	return "panic: " + value
}

// advance goes from the pending yield, to which err came, to the next.
func (m *score) advance(s int, err error) string {
	act := retortGoOn
	if m.at >= 0 {
		fmt.Fprintf(&m.log, "%d %v;", s, err)
		switch err {
		case nil:
		case coro.ErrClosed:
			act = m.closed[m.at]
		default:
			act = m.thrown[m.at]
		}
	}
	if act == retortPanic {
		return m.panics(fmt.Sprint("at ", m.at))
	}
	result := "early"
	if act == retortGoOn {
		if m.at++; m.at < len(m.thrown) {
			return fmt.Sprint(m.at, true, error(nil))
		}
		if act = m.last; act == retortPanic {
			return m.panics("last")
		}
		result = "late"
	}
	m.log.WriteString("end;")
	switch act {
	case retortReturn:
		err = m.finish("", err)
	case retortOwn:
		err = m.finish("", errOwn)
	case retortNil:
		err = m.finish(result, nil)
	}
	return fmt.Sprint(0, false, err)
}

func (m *score) next() string {
	if m.done {
		return fmt.Sprint(0, false)
	}
	how := m.advance(0, nil)
	if strings.HasPrefix(how, "panic") {
		return how
	}
	return fmt.Sprint(max(0, m.at)*bit(!m.done), !m.done)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (m *score) send(s int) string {
	switch {
	case m.done:
		return fmt.Sprint(0, false, error(nil))
	case m.at < 0:
		return fmt.Sprint(0, false, coro.ErrNotStarted)
	}
	return m.advance(s, nil)
}

func (m *score) throw(err error) string {
	if m.at < 0 && !m.done {
		_ = m.finish("", err)
	} else if !m.done {
		return m.advance(0, err)
	}
	return fmt.Sprint(0, false, err)
}

func (m *score) close() string {
	switch {
	case m.done:
		return fmt.Sprint(error(nil))
	case m.at < 0:
		_ = m.finish("", coro.ErrClosed)
		return fmt.Sprint(error(nil))
	}
	if how := m.advance(0, coro.ErrClosed); strings.HasPrefix(how, "panic") {
		return how
	}
	if !m.done {
		m.log.WriteString("end;")
		return fmt.Sprint(m.finish("", coro.ErrIgnoredClose))
	}
	if m.err == nil && m.depth > 0 {
		// What a delegate returns when it is closed is lost: YieldFrom goes on
		// to return ErrClosed.
		_ = m.finish("", coro.ErrClosed)
	}
	if m.err == coro.ErrClosed {
		return fmt.Sprint(error(nil))
	}
	return fmt.Sprint(m.err)
}

func (m *score) outcome() string {
	if !m.done {
		return fmt.Sprint("", coro.ErrNotFinished)
	}
	return fmt.Sprint(m.result, m.err)
}

// told calls f and tells what it returned or panicked with.
func told(f func() string) (how string) {
	defer func() {
		if v := recover(); v != nil {
			how = fmt.Sprint("panic: ", v)
		}
	}()
	return f()
}

// rehearse runs one program on a part: 'n' for Next, 's' for Send, 't' for
// Throw, 'c' for Close, 'r' for Result.
func rehearse(t *testing.T, p part, depth int, program string) {
	var log strings.Builder
	g := p.generator(&log, depth)
	m := &score{part: p, depth: depth, at: -1}
	for i, op := range program + "cr" {
		var got, want string
		switch op {
		case 'n':
			got, want = told(func() string { return fmt.Sprint(g.Next()) }), m.next()
		case 's':
			got, want = told(func() string { return fmt.Sprint(g.Send(i)) }), m.send(i)
		case 't':
			got, want = told(func() string { return fmt.Sprint(g.Throw(errThrown)) }), m.throw(errThrown)
		case 'c':
			got, want = told(func() string { return fmt.Sprint(g.Close()) }), m.close()
		case 'r':
			got, want = told(func() string { return fmt.Sprint(g.Result()) }), m.outcome()
		}
		if got != want || log.String() != m.log.String() {
			t.Fatalf("part %v, depth %d, program %q, call %d: %s, want %s; the function saw %q, want %q",
				p, depth, program, i, got, want, log.String(), m.log.String())
		}
	}
}

// parts calls f with each part that has n yields.
func parts(n int, f func(part)) {
	words("01234"[:retorts], 2*n, func(word string) {
		for _, last := range []retort{retortNil, retortOwn, retortPanic} {
			p := part{last: last}
			for i := range n {
				p.thrown = append(p.thrown, retort(word[2*i]-'0'))
				p.closed = append(p.closed, retort(word[2*i+1]-'0'))
			}
			f(p)
		}
	})
}

func TestGeneratorModel(t *testing.T) {
	clean(t)
	programs := 0
	for _, size := range []struct {
		yields, length int
		start          string
	}{{0, 4, ""}, {1, 4, ""}, {2, 2, "n"}} {
		parts(size.yields, func(p part) {
			words("nstcr", size.length, func(program string) {
				for depth := range 3 {
					if programs++; programs%stride == 0 {
						rehearse(t, p, depth, size.start+program)
					}
				}
			})
		})
	}
	t.Logf("%d programs", programs/stride)
}

// FuzzGenerator runs longer programs on longer parts. The first byte is the
// depth, the second the end, the third the number of yields; then a byte for the
// retorts of each; the rest is the program.
func FuzzGenerator(f *testing.F) {
	f.Add([]byte{0, 0, 1, 3, 0, 1, 2, 3})
	f.Add([]byte{2, 1, 3, 18, 7, 24, 0, 1, 2, 0, 2, 3, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 3 || len(data) > 60 {
			return
		}
		depth, last, yields := int(data[0]%4), data[1], int(data[2]%8)
		data = data[3:]
		if len(data) < yields {
			return
		}
		p := part{last: []retort{retortNil, retortOwn, retortPanic}[last%3]}
		for _, b := range data[:yields] {
			p.thrown = append(p.thrown, retort(b)%retorts)
			p.closed = append(p.closed, retort(b)/retorts%retorts)
		}
		var program strings.Builder
		for _, b := range data[yields:] {
			program.WriteByte("nstcr"[b%5])
		}
		rehearse(t, p, depth, program.String())
	})
}
