package search

import (
	"slices"
	"testing"
	"time"
)

func TestSearchArgs(t *testing.T) {
	got := searchArgs("TestA/b c", []string{"-test.v", "-test.short=true", "-test.run=X", "-soak", "1m", "-test.count=7"})
	want := []string{"-test.run=^TestA$/^b c$", "-test.count=1000000000", "-test.timeout=0", "-test.short=true", "-soak", "1m"}
	if !slices.Equal(got, want) {
		t.Error(got)
	}
}

// TestPatience: a search bears runs that take as long as the one that failed.
func TestPatience(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: 2 * time.Second, 3 * time.Second: 12 * time.Second} {
		if got := (&asked{task: task{Took: took}}).patience(); got != want {
			t.Errorf("a run of %v is left after %v, want %v", took, got, want)
		}
	}
}

// TestLateSeeds: a report does not say that seed 3 is on time, if it is of a cluster.
func TestLateSeeds(t *testing.T) {
	for want, rough := range map[string]bool{"seeds above 20": false, "three of four seeds of a cluster": true} {
		if got := (&Series{rough: rough}).lateSeeds(); got != want {
			t.Error(got)
		}
	}
}
