package main

import (
	"io"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// TestPieces feeds values cut at all the wrong places, and wants each as soon
// as it is complete.
func TestPieces(t *testing.T) {
	p := program.Start(t)
	for _, step := range []struct{ piece, want string }{
		{"i4", ""},
		{"2", ""},
		{"e5:ro", "42"},
		{"ndol", `"rondo"`},
		{"l1:ae", ""},
		{"i-7e0:l", ""},
		{"ee", `[["a"],-7,"",[]]`},
		{"d3:cow3:moo4:sp", ""},
		{"amd1:al1:bee", ""},
		{"e", `{"cow":"moo","spam":{"a":["b"]}}`},
	} {
		if _, err := io.WriteString(p.Stdin, step.piece); err != nil {
			t.Fatal(err)
		}
		if step.want == "" {
			continue
		}
		if got := p.Line(); got != step.want {
			t.Fatalf("after %q: %s, not %s", step.piece, got, step.want)
		}
	}
	p.End()
}

// TestBadInput wants what came before the mistake, and a sentence about it.
func TestBadInput(t *testing.T) {
	for _, c := range []struct{ input, output, sentence string }{
		{"", "", ""},
		{"i1ex", "1\n", "no value begins with 'x'"},
		{"li1ee4:abc", "[1]\n", "in the middle of a value"},
		{"l", "", "in the middle of a value"},
		{"i4x2e", "", "parsing \"4x2\""},
		{"l5x:", "", "parsing \"5x\""},
		{"99999999999999999999:", "", "value out of range"},
		{"i999999999999999999999e", "", "no number that fits"},
		{"99999999999:", "", "16777216 is the most"},
		{"di1e1:ae", "", "a key begins with 'i'"},
		{"d1:b0:1:a0:e", "", "the key \"a\" comes after \"b\""},
		{strings.Repeat("l", 200), "", "more than 100 values within each other"},
	} {
		t.Run(c.input, func(t *testing.T) {
			p := program.Start(t)
			if _, err := io.WriteString(p.Stdin, c.input); err != nil {
				t.Fatal(err)
			}
			output, errors, code := p.Wait()
			if output != c.output || !strings.Contains(errors, c.sentence) || (code == 0) != (c.sentence == "") {
				t.Errorf("exit code %d, output %q: %s", code, output, errors)
			}
		})
	}
}
