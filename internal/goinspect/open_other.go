//go:build !unix

package goinspect

const nonblocking = 0
