package httptask_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/rondo-go/rondo/httptask"
)

// BenchmarkHandler is what a task adds to a request: 64 goroutines call a Handler.
func BenchmarkHandler(b *testing.B) {
	run(b, func(ctx context.Context) error {
		h := httptask.Handler(ctx, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		return away(ctx, func() error {
			b.ReportAllocs()
			b.ResetTimer()
			var all sync.WaitGroup
			const goroutines = 64
			for i := range goroutines {
				all.Go(func() {
					ctx, stop := context.WithCancel(context.Background())
					defer stop()
					r, w := httptest.NewRequest("GET", "/", nil).WithContext(ctx), httptest.NewRecorder()
					for range (b.N + i) / goroutines {
						h.ServeHTTP(w, r)
					}
				})
			}
			all.Wait()
			return nil
		})
	})
}
