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

const module = "github.com/rondo-go/rondo"

var ioPackages = []string{
	"net", "net/url", "os", "io/fs", "crypto/tls",
	module, module + "/internal/kernel", module + "/socket", module + "/process",
}
