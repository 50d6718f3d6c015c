//go:build !js

package sim_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/sim"
)

// unlucky are numbers that none of the seeds chooses with which a fuzzer begins.
var unlucky = []int{1}

// fuzzed fails if its number is unlucky.
func fuzzed(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		t.Log("seed", sim.SeedOf(ctx), "runs")
		if slices.Contains(unlucky, sim.Choose(ctx, 100)) {
			t.Error("so it is")
		}
	})
}

// FuzzVictim fails, but only in a process that TestFuzz has started.
func FuzzVictim(f *testing.F) {
	sim.Fuzz(f, func(t *testing.T) {
		if os.Getenv(victim) != "" {
			fuzzed(t)
		}
	})
}

// fuzz runs FuzzVictim in a folder with arguments of go test, and returns what it prints.
func fuzz(t *testing.T, folder string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Dir = folder
	c.Env = append(os.Environ(), victim+"=1", "RONDO_SEED=", "RONDO_SHRINK=1m", "RONDO_SIM_STORE=")
	text, err := c.CombinedOutput()
	if err == nil {
		t.Fatalf("nothing failed:\n%s", text)
	}
	return string(text)
}

// TestFuzz: Go's fuzzer finds a failure and keeps it in testdata; from there it is repeated and
// shrunk as any seed, and the test itself repeats it by its RONDO_SEED.
func TestFuzz(t *testing.T) {
	folder := t.TempDir()
	cache := t.TempDir()
	text := fuzz(t, folder, "-test.run=^FuzzVictim$", "-test.fuzz=^FuzzVictim$", "-test.fuzzcachedir="+cache,
		"-test.fuzztime=20000x", "-test.fuzzminimizetime=1x", "-test.parallel=1")
	kept, _ := filepath.Glob(filepath.Join(folder, "testdata", "fuzz", "FuzzVictim", "*"))
	if !strings.Contains(text, "so it is") || strings.Contains(text, "shrunk:") || len(kept) != 1 {
		t.Fatalf("%q are kept:\n%s", kept, text)
	}
	seed := regexp.MustCompile(`RONDO_SEED=(\d+\+[0-9a-f]+|\d+) `).FindStringSubmatch(text)
	if seed == nil {
		t.Fatal(text)
	}
	again := fuzz(t, folder, "-test.run=^FuzzVictim$/"+regexp.QuoteMeta(filepath.Base(kept[0])))
	contains(t, again, "so it is", "RONDO_SEED="+seed[1]+" go test", "of its 1 choices 1 matter", "Choose returned ", "nearest run: ")
	t.Setenv("RONDO_SEED", seed[1])
	contains(t, failing(t, func(t *tester) {
		sim.Test(t, func(ctx context.Context) {
			if slices.Contains(unlucky, sim.Choose(ctx, 100)) {
				t.Error("so it is")
			}
		})
	}), "so it is", "replay: RONDO_SEED="+seed[1]+" ")
}

// TestFuzzWithoutFuzz: go test without -fuzz runs seeds 1 to 40, or the one of RONDO_SEED once.
func TestFuzzWithoutFuzz(t *testing.T) {
	for seed, want := range map[string][2]int{"": {40, 0}, "7": {40, 39}} {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^FuzzVictim$", "-test.v")
		c.Env = append(os.Environ(), victim+"=1", "RONDO_SEED="+seed)
		text, err := c.CombinedOutput()
		for s := range 40 {
			if says := fmt.Sprintf(" seed %d runs\n", s+1); seed == "" && strings.Count(string(text), says) != 1 {
				t.Errorf("not just once %q:\n%s", says, text)
			}
		}
		ran, skipped := strings.Count(string(text), "=== RUN   FuzzVictim/seed#"), strings.Count(string(text), "--- SKIP: FuzzVictim/seed#")
		if err != nil || [2]int{ran, skipped} != want {
			t.Errorf("RONDO_SEED=%s: %v; %d seeds, of which %d were skipped, want %v:\n%s", seed, err, ran, skipped, want, text)
		}
	}
}

// TestChanges: a byte changes its own choices and no others.
func TestChanges(t *testing.T) {
	run := func(value string) (all []int) {
		t.Setenv("RONDO_SEED", value)
		try(func(t *tester) {
			sim.Config{Once: true}.Test(t, func(ctx context.Context) {
				for range 64 {
					all = append(all, sim.Choose(ctx, 1<<30))
				}
			})
		})
		return all
	}
	plain, changed := run("7"), run("7+"+hex.EncodeToString([]byte{0, 0, 1}))
	for i := range plain {
		if same := plain[i] == changed[i]; same != (i < 32 || i >= 48) {
			t.Errorf("choice %d was %d and is %d", i, plain[i], changed[i])
		}
	}
}
