package poll_test

import (
	"sync/atomic"
	"testing"

	"github.com/rondo-go/rondo/internal/driver"
)

// BenchmarkRoundTrip is one exchange between the loop's goroutine and another:
// over Poll and Wake, and for comparison over two channels.
func BenchmarkRoundTrip(b *testing.B) {
	b.Run("Wake", func(b *testing.B) {
		d := open(b)
		var posted atomic.Int64
		ask := make(chan struct{})
		go func() {
			for range ask {
				posted.Add(1)
				d.Wake()
			}
		}()
		for i := range int64(b.N) {
			ask <- struct{}{}
			for posted.Load() == i {
				d.Poll(driver.Forever)
			}
		}
		close(ask)
	})
	b.Run("Channel", func(b *testing.B) {
		ask, answer := make(chan struct{}), make(chan struct{})
		go func() {
			for range ask {
				answer <- struct{}{}
			}
		}()
		for range b.N {
			ask <- struct{}{}
			<-answer
		}
		close(ask)
	})
}

func BenchmarkWakeOfAwake(b *testing.B) {
	d := open(b)
	for range b.N {
		d.Wake()
	}
}

func BenchmarkPollWithoutDescriptors(b *testing.B) {
	d := open(b)
	for range b.N {
		d.Poll(0)
	}
}

func BenchmarkNow(b *testing.B) {
	d := open(b)
	for range b.N {
		d.Now()
	}
}
