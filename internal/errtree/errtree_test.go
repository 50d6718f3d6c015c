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

// TestJudge takes the end of a scope off errors, and looks for it in what is left.
func TestJudge(t *testing.T) {
	end, also, other, hiding := errors.New("the end"), errors.New("ended"), errors.New("other"), holder{"hiding"}
	op := func(err error) error { return &net.OpError{Op: "read", Err: err} }
	words := fmt.Errorf("words: %w", end)
	for _, c := range []struct {
		err   error
		rest  string
		names bool // the rest has the end in it
	}{
		{end, "", false},
		{also, "", false},
		{other, "other", false},
		{op(end), "", false},
		{op(op(also)), "", false},
		{op(other), "read: other", false},
		{op(errors.Join(end, also)), "", false},
		{op(errors.Join(end, other)), "read: the end\nother", true},
		{op(errors.Join(also, other)), "read: ended\nother", false},
		{op(words), "read: words: the end", true},
		{words, "words: the end", true},
		{fmt.Errorf("words: %w", also), "words: ended", false},
		{fmt.Errorf("%w, %w", other, words), "other, words: the end", true},
		{errors.Join(end, op(end), errors.Join(end)), "", false},
		{errors.Join(end, other), "other", false},
		{errors.Join(other, other), "other\nother", false},
		{errors.Join(fmt.Errorf("%w, %w", other, also), end), "other, ended", false},
		{errors.Join(other, errors.Join(op(end), words), end, other), "other\nwords: the end\nother", true},
		{hiding, "hiding", false},
		{list{end}, "[the end]", false}, // it has no Unwrap
	} {
		v := Judge(c.err, end, also, func(err error) bool { return Same(err, hiding) })
		text := ""
		if v.Rest != nil {
			text = v.Rest.Error()
		}
		if text != c.rest || v.Dropped != (c.rest == "" || text != c.err.Error()) || v.Names != c.names {
			t.Errorf("Judge(%q) leaves %q, dropped something: %v, has the end: %v; want %q, %v", c.err, text, v.Dropped, v.Names, c.rest, c.names)
		}
	}
	if v := Judge(nil, end, also, nil); v != (Verdict{}) {
		t.Errorf("the verdict on nil is %+v", v)
	}
}

// A counted is an error that counts the calls of its methods.
type counted struct {
	of    *int
	wraps []error
}

func (c *counted) Error() string   { return "counted" }
func (c *counted) Unwrap() []error { *c.of++; return c.wraps }
func (c *counted) Is(error) bool   { *c.of++; return false }

// TestOneLook: each error is looked at once, however they are joined: Is is called for the
// cause and for what is the same as it, Unwrap once.
func TestOneLook(t *testing.T) {
	end, also := errors.New("the end"), errors.New("ended")
	hides := func(error) bool { return false }
	for _, n := range []int{1, 10, 32_000} {
		looked := 0
		leaf := func() error { return &counted{of: &looked} }
		var left, right, wide, below error = nil, nil, nil, leaf()
		var all []error
		for range n {
			left, right = errors.Join(left, leaf()), errors.Join(leaf(), right)
			all, below = append(all, leaf()), &counted{&looked, []error{below}}
		}
		wide = errors.Join(all...)
		for name, c := range map[string]struct {
			err   error
			looks int
		}{"left": {left, 3 * n}, "right": {right, 3 * n}, "wide": {wide, 3 * n}, "below": {below, 2*n + 3}} {
			looked = 0
			if v := Judge(c.err, end, also, hides); v.Rest != c.err || v.Dropped || looked != c.looks {
				t.Errorf("%d errors, %s: %d calls of their methods, want %d; dropped something: %v", n, name, looked, c.looks, v.Dropped)
			}
			looked = 0
			if v := Judge(errors.Join(c.err, end), end, also, hides); v.Rest == nil || !v.Dropped || looked != c.looks {
				t.Errorf("%d errors and the end, %s: %d calls of their methods, want %d; dropped something: %v", n, name, looked, c.looks, v.Dropped)
			}
		}
	}
}

// endless is an error that wraps itself.
type endless struct{ looked int }

func (e *endless) Error() string   { return "endless" }
func (e *endless) Unwrap() []error { e.looked++; return []error{e, e} }

// TestEndless: an error without an end is looked at for a while, and kept whole.
func TestEndless(t *testing.T) {
	end := errors.New("the end")
	e := new(endless)
	operation := &net.OpError{Op: "read"}
	operation.Err = operation
	for _, err := range []error{e, operation, errors.Join(end, e)} {
		e.looked = 0
		v := Judge(err, end, context.Canceled, func(error) bool { return false })
		if v.Rest != err || v.Dropped || e.looked > most {
			t.Errorf("%T: Judge leaves %T after %d looks, dropped something: %v", err, v.Rest, e.looked, v.Dropped)
		}
		if Contains(err, errors.New("other")) {
			t.Errorf("%T contains another error", err)
		}
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

// TestOnly: each part of a joined error must hold, and a method that panics holds nothing.
func TestOnly(t *testing.T) {
	end, other := errors.New("end"), errors.New("other")
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false}, {end, true}, {other, false}, {fmt.Errorf("x: %w", end), true}, {fmt.Errorf("x: %w", other), false},
		{errors.Join(end, end), true}, {errors.Join(end, other), false}, {errors.Join(other, end), false},
		{fmt.Errorf("%w, %w", end, other), false}, {fmt.Errorf("%w", errors.Join(errors.Join(end, other), end)), false},
		{errors.Join(errors.Join(end), fmt.Errorf("%w", end)), true}, {holder{"hides"}, false}, {errors.Join(end, throws{}), false},
		{&counted{of: new(int)}, false}, {&counted{new(int), []error{nil}}, false}, {new(endless), false},
	} {
		hides := func(err error) bool { return Same(err, holder{"hides"}) }
		if got := Only(c.err, func(err error) bool { return Same(err, end) }, hides); got != c.want {
			t.Errorf("Only(%#v) is %v", c.err, got)
		}
	}
}

// throws is an error whose methods panic.
type throws struct{}

func (throws) Error() string { return "throws" }
func (throws) Unwrap() error { panic("Unwrap") }
