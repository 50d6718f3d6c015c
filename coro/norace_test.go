//go:build !race

package coro_test

const stride = 1
