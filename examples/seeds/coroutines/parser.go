package main

// A parser of quoted strings that is written as if it read its input by itself, and
// is fed byte by byte. Its place in the text is its place in the code.

import (
	"fmt"
	"io"

	"github.com/rondo-go/rondo/coro"
)

// A status is what a parser says to a byte.
type status string

const (
	success       status = "success"
	badInput      status = "bad input"
	needMoreInput status = "need more input"
)

// parseQuoted reads a string in double quotes, in which a backslash takes the
// meaning from a quote or a backslash, and reports whether it was one.
func parseQuoted(read func() byte) bool {
	if read() != '"' {
		return false
	}
	for {
		switch c := read(); c {
		case '"':
			return true
		case '\\':
			if c := read(); c != '"' && c != '\\' {
				return false
			}
		case '\n':
			return false
		}
	}
}

// A parser is fed by Write. Close ends it in the middle of a string.
type parser struct {
	resume func(byte) (status, bool)
	Close  func()
}

// newParser makes a parser that is at its first read.
func newParser() *parser {
	resume, cancel := coro.New(func(_ byte, yield func(status) byte) status {
		if !parseQuoted(func() byte { return yield(needMoreInput) }) {
			return badInput
		}
		return success
	})
	resume(0)
	return &parser{resume, cancel}
}

// Write passes the parser a byte. It says false when the parser wants no more.
func (p *parser) Write(c byte) (status, bool) { return p.resume(c) }

// parsing feeds texts to parsers.
func parsing(w io.Writer) error {
	for _, text := range []string{`"ab"`, `"a\"b"`, `ab`, `"a\b"`, `"ab`} {
		fmt.Fprintln(w, text, "is", feed(text))
	}
	return nil
}

func feed(text string) (s status) {
	p := newParser()
	defer p.Close()
	for _, c := range []byte(text) {
		var more bool
		if s, more = p.Write(c); !more {
			break
		}
	}
	return s
}
