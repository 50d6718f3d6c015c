package sim

// This file has Config: what Test, Explore and Cluster try, and how much.
//
// The law: the fields that say how much do not change what one run does, so a seed or an
// order means the same with each number. Exact, Goroutines, Network, Faults and Limit say
// what a run is like.

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// A Config says what [Config.Test], [Config.Explore] and [Config.Cluster] try, and how much.
// The zero value is ready to use and has the defaults. They panic if a field is negative.
type Config struct {
	// Seeds is how many seeds Test tries: those from 1 on. 0 means 20. The
	// variable RONDO_SEED takes precedence over it.
	Seeds int

	// SeedsShort is the same with -short. 0 means 5, or Seeds if that is fewer.
	SeedsShort int

	// For is for how much real time Test goes on with further seeds after the first
	// ones. 0 means not at all. The environment variable RONDO_FOR, as "1s", does the
	// same for all tests.
	For time.Duration

	// Goroutines runs each loop together with the goroutines around it, those that the
	// body or a library starts: time.Now, time.Sleep, timers and contexts of the
	// standard library are on the simulated clock, and a task goes on only when all
	// goroutines are blocked. So the server and the client of net/http, and whatever
	// else needs no descriptors, can be a part of a run that a seed repeats. Results of
	// Offload and Receive that come at the same instant are taken in an order that the
	// seed chooses. What goroutines do to each other without the loop, at one instant,
	// remains the runtime's choice, and so does the order of Posts of several
	// goroutines. All goroutines must have ended when the run ends. It needs a
	// *testing.T, and is not for Cluster and Explore. It is package testing/synctest
	// that does this.
	Goroutines bool

	// MaxOrders is how many orders Explore tries before it fails the test. 0 means
	// 100,000.
	MaxOrders int

	// Deviations is how many choices that are not the first an order of Explore has at
	// most. Most mistakes need few. 0 means any number: all orders are tried.
	Deviations int

	// Exact keeps everything on time in all seeds, and not only in the first 20: no
	// ready task is passed over and no timer fires late, so that times can be
	// compared exactly and turns can be counted. The environment variable
	// RONDO_EXACT=1 does the same for all tests.
	Exact bool

	// MaxSteps is how many steps one run may take. A run that takes more fails the
	// test with "livelock". A step is a choice or a jump of the clock; where there
	// is nothing to choose from, steps are counted roughly. 0 means 10,000,000.
	MaxSteps int

	// Network, Faults and Limit are for Cluster alone. Limit is how much virtual time a
	// run may take; 0 means any, but a body that waits for an hour with no timer of its
	// own has failed.
	Network Network
	Faults  Faults
	Limit   time.Duration
}

// The defaults of a Config.
const (
	defaultSeeds      = 20
	defaultSeedsShort = 5
	defaultMaxOrders  = 100_000
	defaultMaxSteps   = 10_000_000
)

// further returns for how long to go on with further seeds.
func (c Config) further() (time.Duration, error) {
	text := os.Getenv("RONDO_FOR")
	if c.For < 0 {
		panic(fmt.Sprintf("sim: Test with Config.For = %v: use a positive duration, or 0 for no further seeds", c.For))
	}
	if text == "" {
		return c.For, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("sim: RONDO_FOR=%q: want a duration as 1s", text)
	}
	return d, nil
}

// withDefaults returns c with every zero replaced. call is for the panic.
func (c Config) withDefaults(call string) Config {
	for _, f := range []struct {
		name  string
		value *int
		zero  int
	}{
		{"Seeds", &c.Seeds, defaultSeeds},
		{"SeedsShort", &c.SeedsShort, 0},
		{"MaxOrders", &c.MaxOrders, defaultMaxOrders},
		{"Deviations", &c.Deviations, 0},
		{"MaxSteps", &c.MaxSteps, maxSteps},
	} {
		if *f.value < 0 {
			panic(fmt.Sprintf("sim: %s with Config.%s = %d: use a positive number, or 0 for the default", call, f.name, *f.value))
		}
		if *f.value == 0 {
			*f.value = f.zero
		}
	}
	if c.SeedsShort == 0 {
		c.SeedsShort = min(defaultSeedsShort, c.Seeds)
	}
	return c
}

// Test runs body with the defaults. See [Config.Test].
func Test(t testing.TB, body func(ctx context.Context)) {
	t.Helper()
	Config{}.Test(t, body)
}

// Explore runs body with the defaults. See [Config.Explore].
func Explore(t testing.TB, body func(ctx context.Context)) {
	t.Helper()
	Config{}.Explore(t, body)
}
