// Package nocopy has the field of types that must not be copied.
//
// The law: every exported struct has one, or a mutex, or a row in internal/tidy that says why it
// may be copied.
package nocopy

// A Field is the first field of a type that must not be copied, where it takes no room: go vet's
// copylocks reports copies of values with the methods Lock and Unlock.
type Field struct{}

// Lock does nothing.
func (*Field) Lock() {}

// Unlock does nothing.
func (*Field) Unlock() {}
