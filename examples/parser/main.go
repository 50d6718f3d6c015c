// Command parser reads bencoded values (BitTorrent's BEP 3) from its input and
// prints each as JSON when its last byte has come.
//
// The parser is a coroutine that receives bytes. It is written as if it read them
// itself, with recursion, but it accepts them in pieces of any size: its stack has its
// place in a list within a list. At the end of the input it is stopped wherever it
// is.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"

	"github.com/rondo-go/rondo/coro"
)

// Limits for untrusted input: nested values, and bytes.
const (
	maxDepth  = 100
	maxText   = 16 << 20
	maxDigits = 20
)

// next yields a value that is complete, or nil, and waits for a byte.
type next func(complete any) byte

// parse receives bytes, from first on. It ends only with an error.
func parse(first byte, yield func(any) byte) any {
	for {
		v, err := next(yield).value(first, 0)
		if err != nil {
			return err
		}
		first = yield(v)
	}
}

// value parses the value that begins with first and stands in depth others.
func (n next) value(first byte, depth int) (any, error) {
	switch {
	case depth > maxDepth:
		return nil, fmt.Errorf("more than %d values within each other", maxDepth)
	case first == 'i':
		digits, err := n.until('e', "")
		if err != nil {
			return nil, err
		}
		return strconv.ParseInt(digits, 10, 64)
	case first >= '0' && first <= '9':
		return n.text(first)
	case first == 'l':
		list := []any{}
		for b := n(nil); b != 'e'; b = n(nil) {
			v, err := n.value(b, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case first == 'd':
		return n.dictionary(depth)
	}
	return nil, fmt.Errorf("no value begins with %q", first)
}

// text parses a string, whose length begins with first.
func (n next) text(first byte) (string, error) {
	digits, err := n.until(':', string(first))
	if err != nil {
		return "", err
	}
	size, err := strconv.ParseUint(digits, 10, 64)
	if err == nil && size > maxText {
		err = fmt.Errorf("a string of %d bytes; %d is the most", size, maxText)
	}
	if err != nil {
		return "", err
	}
	var text []byte // it grows as the bytes come, not as they are promised
	for range size {
		text = append(text, n(nil))
	}
	return string(text), nil
}

// dictionary parses pairs of a string and a value, in the order of the strings.
func (n next) dictionary(depth int) (any, error) {
	pairs, last := map[string]any{}, ""
	for b := n(nil); b != 'e'; b = n(nil) {
		if b < '0' || b > '9' {
			return nil, fmt.Errorf("a key begins with %q, not with its length", b)
		}
		key, err := n.text(b)
		if err != nil {
			return nil, err
		}
		if len(pairs) > 0 && key <= last {
			return nil, fmt.Errorf("the key %q comes after %q", key, last)
		}
		if pairs[key], err = n.value(n(nil), depth+1); err != nil {
			return nil, err
		}
		last = key
	}
	return pairs, nil
}

// until takes digits up to the byte end; some may be there already.
func (n next) until(end byte, digits string) (string, error) {
	for b := n(nil); b != end; b = n(nil) {
		if digits += string(rune(b)); len(digits) > maxDigits {
			return "", fmt.Errorf("%s... is no number that fits", digits)
		}
	}
	return digits, nil
}

func main() {
	feed, stop := coro.New(parse)
	defer stop()
	whole, piece := true, make([]byte, 4096)
	for {
		n, err := os.Stdin.Read(piece)
		for _, b := range piece[:n] {
			v, _ := feed(b)
			if err, bad := v.(error); bad {
				log.Fatal(err)
			}
			if whole = v != nil; whole {
				if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
					log.Fatal(err)
				}
			}
		}
		if err == io.EOF && whole {
			return
		}
		if err != nil {
			log.Fatal("in the middle of a value: ", err)
		}
	}
}
