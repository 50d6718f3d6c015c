//go:build race

package coro_test

// stride is one in how many programs of the models are run: under the race
// detector each costs twenty times as much.
const stride = 31
