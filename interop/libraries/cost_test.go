package libraries

// What the way through the loop adds to a call of a library, beside the same call of a goroutine:
// go test ./interop/libraries -run '^$' -bench .

import (
	"context"
	"testing"

	"github.com/rondo-go/rondo/interop/internal/peer"
)

// BenchmarkQuery reads one row, in PostgreSQL and in SQLite.
func BenchmarkQuery(b *testing.B) {
	source := peer.Postgres(b)
	for name, db := range map[string]*bank{"postgres": {open(b, "pgx", source)}, "sqlite": {openSQLite(b)}} {
		b.Run(name+"/goroutine", func(b *testing.B) {
			for b.Loop() {
				var n int
				if err := db.db.QueryRowContext(b.Context(), "select balance from accounts where id = $1", 1).Scan(&n); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/task", func(b *testing.B) {
			run(b, func(ctx context.Context) error {
				for b.Loop() {
					if _, err := db.balance(ctx, 1); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}
