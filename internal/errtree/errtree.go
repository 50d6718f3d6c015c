// Package errtree looks into errors that wrap other errors.
//
// The law: it looks at each part of an error once, ends with any error, one that wraps itself
// included, and does not panic for errors of types that cannot be compared. The methods of an
// error are its own: what they do, a panic among it, reaches the caller, except for Is and Only.
package errtree

import (
	"context"
	"errors"
	"reflect"
	"slices"
)

// Joined returns the errors of which errors.Join made err, or nil if it did not.
func Joined(err error) []error {
	if reflect.TypeOf(err) != joined {
		return nil
	}
	return err.(interface{ Unwrap() []error }).Unwrap()
}

var joined = reflect.TypeOf(errors.Join(context.Canceled))

// Join is errors.Join, but it returns a single error as it is.
func Join(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// Same is errors.Is without a look at what err wraps. Two errors of a type that
// cannot be compared, a slice for example, are the same if they are deeply equal.
func Same(err, target error) bool {
	if t := reflect.TypeOf(err); t == reflect.TypeOf(target) {
		if t != nil && t.Kind() != reflect.Pointer && !reflect.ValueOf(target).Comparable() {
			return reflect.DeepEqual(err, target)
		}
		if err == target {
			return true
		}
	}
	e, ok := err.(interface{ Is(error) bool })
	return ok && e.Is(target)
}

// Identical reports whether two errors are the same pointer.
func Identical(err, target error) bool {
	return err != nil && reflect.TypeOf(err).Kind() == reflect.Pointer && err == target
}

// NamesOperation reports whether err is of a type that puts no words of the
// program before the error that it wraps, but only the name of an operation and
// of its object. All I/O wraps its errors so, and the program has no say in it.
// What package fmt wraps has the program's words, and so may a type of its own.
func NamesOperation(err error) bool {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return slices.Contains(ioPackages, t.PkgPath())
}

// A Verdict is what an error says beyond a cancellation.
type Verdict struct {
	Rest    error // the error without the parts that say no more; nil if that is all of it
	Dropped bool  // parts were taken off
	Names   bool  // Rest has the cause in it
}

// Judge compares err with a cancellation that has a cause, and that a context also reports
// as another error. A part of err says no more than that if it is one of these two; if it was
// only joined of such parts; or if it puts no more before one of them than the name of an
// operation, as a *net.OpError does. Errors that were only joined are judged one by one, and
// what is left of them is joined again; any other error is kept whole. An error of which hides
// is true says something of its own, whatever it wraps.
//
// Judge calls methods of err, which may be the program's.
func Judge(err, cause, also error, hides func(error) bool) Verdict {
	if err == nil {
		return Verdict{}
	}
	if Identical(also, cause) {
		also = nil
	}
	w := walk{cause: cause, also: also, hides: hides, left: most}
	w.is = func(err error) bool { return Same(err, cause) }
	kept, dropped, _ := w.parts(err, deepest)
	switch {
	case w.left < 0:
		return Verdict{Rest: err}
	case !dropped:
		return Verdict{Rest: err, Names: w.named}
	}
	return Verdict{Rest: Join(kept), Dropped: true, Names: w.named}
}

// Contains is errors.Is by the measure of Same. It calls methods of err.
func Contains(err, target error) bool {
	return Any(err, func(err error) bool { return Same(err, target) })
}

// Is is Contains for those who have nobody to blame for a method of err that panics: then err
// is not target.
func Is(err, target error) (is bool) {
	defer func() {
		if recover() != nil {
			is = false
		}
	}()
	return Contains(err, target)
}

// As is errors.As for those who have nobody to blame for a method of err that panics: then
// there is no T in err. It does not ask an error for its method As.
func As[T error](err error) (found T, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	ok = Any(err, func(err error) (is bool) {
		if t, is := err.(T); is {
			found = t
			return true
		}
		return false
	})
	return found, ok
}

// Only reports whether err says no more than is: is holds for err, or for what it wraps; if that
// is several errors, for each of them. An error of which hides is true says something of its
// own, whatever it wraps; hides may be nil. If a method of err panics the answer is no.
func Only(err error, is, hides func(error) bool) (only bool) {
	defer func() {
		if recover() != nil {
			only = false
		}
	}()
	w := walk{left: most}
	for err != nil {
		w.left--
		switch {
		case w.left < 0 || hides != nil && hides(err):
			return false
		case is(err):
			only, err = true, w.next(0)
			continue
		}
		outer := len(w.back)
		if err = w.unwrap(err); err == nil {
			if len(w.back) == outer {
				return false
			}
			err = w.next(0)
		}
	}
	return only
}

// Any reports whether is holds for err or for an error that it wraps.
func Any(err error, is func(error) bool) bool {
	w := walk{is: is, left: most}
	return err != nil && (is(err) || w.below(err))
}

// An error may have any number of parts, and one may wrap itself. A walk looks at each part
// once, and at no more than most of them: an error of more parts is kept whole. Names of
// operations are looked behind to the depth of deepest.
const (
	most    = 100_000
	deepest = 100
)

// A walk is one look at an error and all that it wraps. It keeps the way back itself: the stack
// of a task does not grow with the depth of its errors.
type walk struct {
	cause, also error
	hides       func(error) bool
	is          func(error) bool // what is looked for in errors that are kept
	left        int              // how many errors it may still look at; below 0: there are more
	named       bool             // the cause is in an error that is kept
	back        [][]error        // what is still to be looked at, innermost last
}

// parts judges err, and the errors of which errors.Join made it, one after the other. It
// returns those that are kept, and whether others were taken off, the cause itself among them.
func (w *walk) parts(err error, deeper int) (kept []error, dropped, cause bool) {
	outer := len(w.back)
	for ; err != nil; err = w.next(outer) {
		if w.left--; w.left < 0 {
			return nil, false, false
		}
		if Same(err, w.cause) {
			dropped, cause = true, true
			continue
		}
		if w.also != nil && Same(err, w.also) {
			dropped = true
			continue
		}
		if parts := Joined(err); parts != nil {
			w.add(parts)
			continue
		}
		var inner error
		if deeper > 0 && !w.hides(err) && NamesOperation(err) {
			inner = errors.Unwrap(err)
		}
		if inner != nil {
			more, _, behind := w.parts(inner, deeper-1)
			if more == nil && w.left >= 0 {
				dropped, cause = true, cause || behind
				continue
			}
			w.named = w.named || behind
		} else if !w.named {
			w.named = w.below(err)
		}
		kept = append(kept, err)
	}
	slices.Reverse(kept)
	return kept, dropped, cause
}

// below reports whether w.is holds for an error that err wraps.
func (w *walk) below(err error) bool {
	outer := len(w.back)
	for {
		if err = w.unwrap(err); err == nil {
			err = w.next(outer)
		}
		if err == nil {
			return false
		}
		if w.left--; w.left < 0 {
			return false
		}
		if w.is(err) {
			w.back = w.back[:outer]
			return true
		}
	}
}

// unwrap returns the error that err wraps, or nil; if there are several, they are next.
func (w *walk) unwrap(err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		w.add(many.Unwrap())
		return nil
	}
	return errors.Unwrap(err)
}

// add puts errors before those that are still to be looked at.
func (w *walk) add(errs []error) {
	if len(errs) > 0 {
		w.back = append(w.back, errs)
	}
}

// next returns the error that is to be looked at next, or nil if there is none beyond outer.
// The last part of an error comes first: errors that a program collects, as in
// errs = errors.Join(errs, err), then need no way back.
func (w *walk) next(outer int) error {
	for len(w.back) > outer {
		i := len(w.back) - 1
		n := len(w.back[i]) - 1
		err := w.back[i][n]
		if w.back[i] = w.back[i][:n]; n == 0 {
			w.back = w.back[:i]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const module = "github.com/rondo-go/rondo"

var ioPackages = []string{
	"net", "net/url", "os", "io/fs", "crypto/tls",
	module, module + "/internal/kernel", module + "/socket", module + "/process",
}
