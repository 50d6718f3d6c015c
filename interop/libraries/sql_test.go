package libraries

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/interop/internal/peer"
)

const accounts = 10

// open opens a database with accounts of 100 each.
func open(t testing.TB, driver, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	db.SetMaxOpenConns(3) // fewer than the tasks
	if _, err := db.Exec("create table accounts (id int primary key, balance int)"); err != nil {
		t.Fatal(err)
	}
	for i := range accounts {
		if _, err := db.Exec("insert into accounts values ($1, 100)", i); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func openSQLite(t testing.TB) *sql.DB {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bank.db")
	return open(t, "sqlite", "file:"+file+"?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(off)&_txlock=immediate")
}

func TestPostgres(t *testing.T) {
	db := open(t, "pgx", peer.Postgres(t))
	t.Run("bank", func(t *testing.T) { tryBank(t, db) })
	t.Run("cancel", func(t *testing.T) { tryCancel(t, db, "select 1 from pg_sleep(600)") })
	t.Run("gorm", func(t *testing.T) { tryGorm(t, db) })
}

func TestSQLite(t *testing.T) {
	db := openSQLite(t)
	t.Run("bank", func(t *testing.T) { tryBank(t, db) })
	t.Run("cancel", func(t *testing.T) {
		tryCancel(t, db, "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n")
	})
}

// tryBank moves money by more tasks than there are connections. None is lost, and what fails is
// rolled back.
func tryBank(t *testing.T, db *sql.DB) {
	b := &bank{db}
	run(t, func(ctx context.Context) error {
		waiting, most := 0, 0
		err := all(ctx, 2*accounts, func(ctx context.Context, i int) error {
			waiting++
			most = max(most, waiting)
			_, err := b.transfer(ctx, i%accounts, (i+1)%accounts, 10)
			waiting--
			return err
		})
		if err != nil {
			return err
		}
		if most != 2*accounts {
			t.Errorf("%d tasks waited for the database at once, not %d", most, 2*accounts)
		}
		if _, err := b.transfer(ctx, 0, 1, 1_000_000); !errors.Is(err, errFunds) {
			t.Errorf("too much was moved: %v", err)
		}
		for i := range accounts {
			if n, err := b.balance(ctx, i); n != 100 || err != nil {
				t.Errorf("account %d has %d, %v", i, n, err)
			}
		}
		return nil
	})
}

// tryCancel cancels a statement that never ends: its task goes on at once, and its connection
// is free again soon.
func tryCancel(t *testing.T, db *sql.DB, forever string) {
	enough := errors.New("enough")
	run(t, func(ctx context.Context) error {
		asking := rondo.Go(ctx, func(ctx context.Context) error {
			_, err := inTx(ctx, db, func(ctx context.Context, tx *sql.Tx) (n int, err error) {
				err = tx.QueryRowContext(ctx, forever).Scan(&n)
				return n, err
			})
			return err
		})
		if err := until(ctx, func() bool { return db.Stats().InUse == 1 }); err != nil {
			return err
		}
		asking.Cancel(enough)
		if err := asking.Wait(ctx); !errors.Is(err, enough) {
			t.Errorf("a statement that was cancelled returned %v", err)
		}
		return until(ctx, func() bool { return db.Stats().InUse == 0 })
	})
}

// tryGorm asks by gorm, on the same connections.
func tryGorm(t *testing.T, db *sql.DB) {
	if _, err := db.Exec("update accounts set balance = 100 + id where id > 7"); err != nil {
		t.Fatal(err)
	}
	run(t, func(ctx context.Context) error {
		g, err := rondo.Offload(ctx, func(context.Context) (*gorm.DB, error) {
			return gorm.Open(postgres.New(postgres.Config{Conn: db}))
		})
		if err != nil {
			return err
		}
		return all(ctx, 10, func(ctx context.Context, _ int) error {
			list, err := richest(ctx, g, 2)
			if len(list) != 2 || list[0] != (account{9, 109}) || list[1] != (account{8, 108}) {
				t.Errorf("the richest are %v", list)
			}
			return err
		})
	})
}
