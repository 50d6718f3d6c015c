package socket_test

import (
	"context"
	"io"
	"testing"

	"github.com/rondo-go/rondo"
)

// BenchmarkTLS compares a TLSConn with a tls.Conn: one task writes and one reads, in
// bulk, and by turns of a hundred bytes.
func BenchmarkTLS(b *testing.B) {
	for name, by := range map[string]makeSecret{"tls.Conn": stdTLS, "TLSConn": rondoTLS} {
		for way, size := range map[string]int{"bulk": 256 << 10, "turns": 100} {
			b.Run(way+"/"+name, func(b *testing.B) {
				run(b, func(ctx context.Context) error {
					x, y := pair(b, ctx)
					defer x.Close()
					defer y.Close()
					s, c := by.secured(b, ctx, x, y)
					p, q := make([]byte, size), make([]byte, size)
					b.SetBytes(int64(size))
					b.ReportAllocs()
					b.ResetTimer()
					return both(ctx, func(context.Context) error {
						for range b.N {
							if _, err := c.Write(p); err != nil {
								return err
							}
							if way == "turns" {
								if _, err := io.ReadFull(c, p); err != nil {
									return err
								}
							}
						}
						return nil
					}, func(context.Context) error {
						for range b.N {
							if _, err := io.ReadFull(s, q); err != nil {
								return err
							}
							if way == "turns" {
								if _, err := s.Write(q); err != nil {
									return err
								}
							}
						}
						return rondo.Check(ctx)
					})
				})
			})
		}
	}
}
