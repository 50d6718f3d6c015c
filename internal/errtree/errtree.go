// Package errtree looks into errors that wrap other errors.
//
// The law: it never panics, also with errors of types that cannot be compared.
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
	if reflect.TypeOf(err) == reflect.TypeOf(target) {
		if !reflect.ValueOf(target).Comparable() {
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

// Contains is errors.Is by the measure of Same.
func Contains(err, target error) bool {
	if err == nil {
		return false
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(many.Unwrap(), func(part error) bool { return Contains(part, target) })
	}
	return Same(err, target) || Contains(errors.Unwrap(err), target)
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

// Only reports whether err says no more than what is said by errors of which means
// is true: it is such an error; or several that were only joined; or one behind the
// name of an operation, such as a *net.OpError. An error of which hides is true says
// something of its own, whatever it wraps.
func Only(err error, means, hides func(error) bool) bool {
	switch {
	case means(err):
		return true
	case hides(err):
		return false
	}
	if parts := Joined(err); parts != nil {
		return !slices.ContainsFunc(parts, func(part error) bool { return !Only(part, means, hides) })
	}
	inner := errors.Unwrap(err)
	return inner != nil && NamesOperation(err) && Only(inner, means, hides)
}

// Without returns what err says beyond the errors of which drop is true, or nil, and
// reports whether something was taken off. Errors that were only joined are looked at
// one by one; any other is kept whole.
func Without(err error, drop func(error) bool) (rest error, dropped bool) {
	if err == nil || drop(err) {
		return nil, err != nil
	}
	var kept []error
	for _, part := range Joined(err) {
		rest, some := Without(part, drop)
		dropped = dropped || some
		if rest != nil {
			kept = append(kept, rest)
		}
	}
	if !dropped {
		return err, false
	}
	return Join(kept), true
}

const module = "github.com/rondo-go/rondo"

var ioPackages = []string{
	"net", "net/url", "os", "io/fs", "crypto/tls",
	module, module + "/internal/kernel", module + "/socket", module + "/process",
}
