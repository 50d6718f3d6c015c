// Command parser reads bencoded values (BitTorrent's BEP 3) from its input and
// prints each as JSON when its last byte has come.
//
// The parser is a coroutine that is fed bytes. It is written as if it read them
// itself, recursion and all, and yet it takes them in whatever pieces they come:
// where it is in a list within a list stands on its stack. At the end of the
// input it is stopped, wherever it is.
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

// next gives out a value that is complete, or nil, and waits for a byte.
type next func(complete any) byte

// parse is fed bytes, from first on. It ends only with an error.
func parse(first byte, yield func(any) byte) any {
	for {
		v, err := next(yield).value(first)
		if err != nil {
			return err
		}
		first = yield(v)
	}
}

// value parses the value that begins with first.
func (n next) value(first byte) (any, error) {
	switch {
	case first == 'i':
		return strconv.Atoi(n.until('e'))
	case first >= '0' && first <= '9':
		size, err := strconv.Atoi(string(first) + n.until(':'))
		if err != nil {
			return nil, err
		}
		var text []byte
		for range size {
			text = append(text, n(nil))
		}
		return string(text), nil
	case first == 'l':
		list := []any{}
		for b := n(nil); b != 'e'; b = n(nil) {
			v, err := n.value(b)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	return nil, fmt.Errorf("no value begins with %q", first)
}

func (n next) until(end byte) (text string) {
	for b := n(nil); b != end; b = n(nil) {
		text += string(b)
	}
	return text
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
