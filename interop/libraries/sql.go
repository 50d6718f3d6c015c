package libraries

// A bank in a database, by database/sql: PostgreSQL by pgx, or SQLite by modernc.org/sqlite.

import (
	"context"
	"database/sql"
	"errors"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/rondo-go/rondo"
)

var errFunds = errors.New("not enough money")

type bank struct{ db *sql.DB }

// balance returns what an account has.
func (b *bank) balance(ctx context.Context, account int) (int, error) {
	return rondo.Offload(ctx, func(ctx context.Context) (n int, err error) {
		err = b.db.QueryRowContext(ctx, "select balance from accounts where id = $1", account).Scan(&n)
		return n, err
	})
}

// transfer moves an amount, and returns what the first account has left.
func (b *bank) transfer(ctx context.Context, from, to, amount int) (int, error) {
	return inTx(ctx, b.db, func(ctx context.Context, tx *sql.Tx) (left int, err error) {
		const add = "update accounts set balance = balance + $1 where id = $2 returning balance"
		if err := tx.QueryRowContext(ctx, add, -amount, from).Scan(&left); err != nil {
			return 0, err
		}
		if left < 0 {
			return 0, errFunds
		}
		_, err = tx.ExecContext(ctx, add, amount, to)
		return left, err
	})
}

// inTx runs fn in a transaction, on a goroutine, and suspends the task meanwhile. If fn fails
// or ctx is cancelled, the transaction is rolled back.
func inTx[T any](ctx context.Context, db *sql.DB, fn func(ctx context.Context, tx *sql.Tx) (T, error)) (T, error) {
	return rondo.Offload(ctx, func(ctx context.Context) (T, error) {
		var none T
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return none, err
		}
		defer tx.Rollback() // does nothing after Commit
		result, err := fn(ctx, tx)
		if err != nil {
			return none, err
		}
		return result, tx.Commit()
	})
}
