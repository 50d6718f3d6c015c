package errtree

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"testing"
)

type list []error

func (l list) Error() string { return fmt.Sprint([]error(l)) }

type holder struct{ v any }

func (h holder) Error() string { return fmt.Sprint(h.v) }

// TestSame compares errors of types that can be compared, and of others.
func TestSame(t *testing.T) {
	a, b := errors.New("a"), errors.New("a")
	for _, c := range []struct {
		err, target error
		want        bool
	}{
		{a, a, true},
		{a, b, false},
		{fmt.Errorf("%w", a), a, false},
		{list{a}, list{a}, true},
		{list{a}, list{a, b}, false},
		{list{a}, a, false},
		{a, list{a}, false},
		{holder{1}, holder{1}, true},
		{holder{[]int{1}}, holder{[]int{1}}, true},
		{holder{[]int{1}}, holder{1}, false},
		{holder{1}, holder{[]int{1}}, false},
		{os.NewSyscallError("read", a), a, false},
	} {
		if got := Same(c.err, c.target); got != c.want {
			t.Errorf("Same(%#v, %#v) is %v", c.err, c.target, got)
		}
		if wrapped := fmt.Errorf("x: %w", errors.Join(b, c.err)); c.target != error(b) && Contains(wrapped, c.target) != (c.want || errors.Unwrap(c.err) == a) {
			t.Errorf("Contains(%v, %v) is %v", wrapped, c.target, !c.want)
		}
	}
	if Contains(nil, a) {
		t.Error("nil contains an error")
	}
}

// TestNamesOperation: the wraps of the standard library's I/O, and no others.
func TestNamesOperation(t *testing.T) {
	for _, err := range []error{
		&net.OpError{Op: "read", Err: context.Canceled},
		os.NewSyscallError("read", context.Canceled),
		&os.PathError{Op: "open", Path: "x", Err: context.Canceled},
		&url.Error{Op: "Get", URL: "x", Err: context.Canceled},
	} {
		if !NamesOperation(err) {
			t.Errorf("%T: false", err)
		}
	}
	for _, err := range []error{fmt.Errorf("reading: %w", context.Canceled), errors.Join(context.Canceled), list{}, holder{}, context.Canceled} {
		if NamesOperation(err) {
			t.Errorf("%T: true", err)
		}
	}
}

func TestJoin(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	if Join(nil) != nil || Join([]error{a}) != a || len(Joined(Join([]error{a, b}))) != 2 || Joined(fmt.Errorf("%w %w", a, b)) != nil {
		t.Error("Join and Joined do not fit")
	}
}

// TestOnly looks for errors that say no more than "the end", and takes those off.
func TestOnly(t *testing.T) {
	end, other, hiding := errors.New("the end"), errors.New("other"), holder{"hiding"}
	means := func(err error) bool { return err == end }
	hides := func(err error) bool { return Same(err, hiding) }
	only := func(err error) bool { return Only(err, means, hides) }
	op := &net.OpError{Op: "read", Err: end}
	words := fmt.Errorf("words: %w", end)
	for _, c := range []struct {
		err  error
		only bool
		rest string // what Without leaves
	}{
		{end, true, ""},
		{other, false, "other"},
		{op, true, ""},
		{&net.OpError{Op: "read", Err: other}, false, "read: other"},
		{words, false, "words: the end"},
		{errors.Join(end, op, errors.Join(end)), true, ""},
		{errors.Join(end, other), false, "other"},
		{errors.Join(other, errors.Join(op, words), end), false, "other\nwords: the end"},
		{hiding, false, "hiding"},
	} {
		if got := only(c.err); got != c.only {
			t.Errorf("Only(%v) is %v", c.err, got)
		}
		rest, dropped := Without(c.err, only)
		if text := fmt.Sprint(rest); text != c.rest && !(rest == nil && c.rest == "") || dropped != (text != c.err.Error()) {
			t.Errorf("Without(%q) leaves %q, and dropped something: %v", c.err, text, dropped)
		}
	}
	if rest, dropped := Without(nil, only); rest != nil || dropped {
		t.Error("something was taken off nil")
	}
}

// TestIdentical: errors whose types cannot be compared are not the same pointer, and do
// not panic.
func TestIdentical(t *testing.T) {
	pointer, slice := errors.New("a"), list{errors.New("b")}
	for _, c := range []struct {
		a, b error
		want bool
	}{
		{pointer, pointer, true}, {pointer, errors.New("a"), false}, {slice, slice, false},
		{nil, nil, false}, {nil, pointer, false}, {pointer, nil, false},
	} {
		if got := Identical(c.a, c.b); got != c.want {
			t.Errorf("Identical(%v, %v) is %v", c.a, c.b, got)
		}
	}
}
