// Package kerneltest tests package rondo from outside, by what it exports. What
// needs an unexported name is tested in the root folder, beside the file that
// has the name. The tests are an external package, as those of a user are.
package kerneltest
