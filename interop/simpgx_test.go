package interop_test

// pgx beside a simulated loop: its connections and goroutines, and the server that answers
// them from a script, are in a bubble, on the clock of the loop.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// scripted is a PostgreSQL server that has one table of one row: a query is answered with
// its own text, after the time that the text names.
func scripted(c net.Conn) error {
	defer c.Close()
	b := pgproto3.NewBackend(c, c)
	first, err := b.ReceiveStartupMessage()
	if err != nil {
		return err
	}
	if _, ok := first.(*pgproto3.CancelRequest); ok {
		return nil
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	b.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	b.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{1, 2, 3, 4}})
	for {
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if err := b.Flush(); err != nil {
			return err
		}
		m, err := b.Receive()
		if err != nil {
			return err
		}
		q, ok := m.(*pgproto3.Query)
		if !ok {
			return nil // Terminate
		}
		d, err := time.ParseDuration(strings.TrimPrefix(q.String, "select "))
		if err != nil {
			b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "42601", Message: err.Error()})
			continue
		}
		time.Sleep(d)
		b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("text"), DataTypeOID: 25, DataTypeSize: -1, TypeModifier: -1}}})
		b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte(q.String)}})
		b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
	}
}

// simulatedPool returns a pool of pgx whose connections lead to scripted servers.
func simulatedPool(ctx context.Context) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig("host=simulated user=u dbname=d sslmode=disable default_query_exec_mode=simple_protocol pool_max_conns=3")
	if err != nil {
		return nil, err
	}
	config.ConnConfig.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"simulated"}, nil }
	config.ConnConfig.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() { _ = scripted(far) }()
		return near, nil
	}
	return rondo.Offload(ctx, func(ctx context.Context) (*pgxpool.Pool, error) {
		return pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	})
}

// ask has the pool answer a query.
func ask(ctx context.Context, pool *pgxpool.Pool, query string, patience time.Duration) (string, error) {
	return rondo.Offload(ctx, func(ctx context.Context) (text string, err error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		err = pool.QueryRow(ctx, query).Scan(&text)
		return text, err
	})
}

// TestSimulatedPgx has three tasks query at once. Virtual time passes while the server
// works, a query that takes too long ends at its deadline, and answers that come at one
// instant are taken in an order that the seed chooses. Each of the first 20 seeds runs
// twice, and must do the same.
func TestSimulatedPgx(t *testing.T) {
	orders := map[string]bool{}
	sim.Config{Seeds: 30, SeedsShort: 30, Goroutines: true, Exact: true}.Test(t, func(ctx context.Context) {
		pool, err := simulatedPool(ctx)
		if err != nil {
			t.Fatal(err)
		}
		start, order := rondo.Now(ctx), ""
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 3 {
				g.Go(func(ctx context.Context) error {
					if text, err := ask(ctx, pool, "select 1h", 2*time.Hour); err != nil || text != "select 1h" {
						t.Error(text, err)
					}
					order += fmt.Sprint(i)
					return nil
				})
			}
			return nil
		})
		orders[order] = true
		if d := rondo.Now(ctx).Sub(start); d != time.Hour {
			t.Error("three queries of an hour at once took", d)
		}
		start = rondo.Now(ctx)
		if _, err := ask(ctx, pool, "select 2h", time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if d := rondo.Now(ctx).Sub(start); d != time.Minute {
			t.Error("the deadline of a minute came after", d)
		}
		if _, err := ask(ctx, pool, "sing", time.Minute); err == nil || !strings.Contains(err.Error(), "42601") {
			t.Error(err)
		}
		if err := rondo.OffloadFunc(ctx, func(context.Context) error { pool.Close(); return nil }); err != nil {
			t.Error(err)
		}
		_ = rondo.Sleep(ctx, 3*time.Hour) // the server whose client has gone is at work until then
	})
	if len(orders) < 2 {
		t.Error("all seeds have the same order:", orders)
	}
}
