package store

// database/sql and pgx on the hosts of a cluster, with a server that answers from a script.

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// answerQueries serves one connection, of PostgreSQL's protocol, until the client ends it: a query
// is answered after a while with its own text, in a table of one row.
func answerQueries(c net.Conn) error {
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
		q, ok := m.(*pgproto3.Query)
		if err != nil || !ok {
			return err
		}
		<-time.After(10 * time.Millisecond) // of virtual time
		if q.String == "-- ping" {
			b.Send(&pgproto3.EmptyQueryResponse{})
			continue
		}
		b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("text"), DataTypeOID: 25, DataTypeSize: -1, TypeModifier: -1}}})
		b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte(q.String)}})
		b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
	}
}

// serveDatabase is the program of a host.
func serveDatabase(ctx context.Context) error {
	return rondo.OffloadFunc(ctx, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", ":5432")
		if err != nil {
			return err
		}
		for {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			go func() { _ = answerQueries(c) }()
		}
	})
}

// connected returns what pgx needs to use the network of a host.
func connected(host context.Context) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig("host=database user=u dbname=d sslmode=disable default_query_exec_mode=simple_protocol pool_max_conns=3")
	if err != nil {
		return nil, err
	}
	c.ConnConfig.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	c.ConnConfig.DialFunc = func(ctx context.Context, _, address string) (net.Conn, error) { return onHost(host)(ctx, address) }
	return c, nil
}

// A database is asked for a text.
type database interface {
	ask(ctx context.Context, query string) (string, error)
	close()
}

type pool struct{ *pgxpool.Pool }

func (p pool) close() { p.Close() }

func (p pool) ask(ctx context.Context, query string) (text string, err error) {
	err = p.QueryRow(ctx, query).Scan(&text)
	return text, err
}

type standard struct{ *sql.DB }

func (d standard) close() { _ = d.Close() }

func (d standard) ask(ctx context.Context, query string) (text string, err error) {
	err = d.QueryRowContext(ctx, query).Scan(&text)
	return text, err
}

// databases are the two ways to open one.
var databases = map[string]func(*pgxpool.Config) (database, error){
	"pgxpool": func(c *pgxpool.Config) (database, error) {
		p, err := pgxpool.NewWithConfig(context.Background(), c)
		return pool{p}, err
	},
	"database/sql": func(c *pgxpool.Config) (database, error) {
		return standard{stdlib.OpenDB(*c.ConnConfig, stdlib.OptionResetSession(func(context.Context, *pgx.Conn) error { return nil }))}, nil
	},
}

// TestDatabases: three tasks of a host query a database on another one, which loses power in some
// seeds.
func TestDatabases(t *testing.T) {
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			answered, failed := 0, 0
			c := sim.Config{
				Seeds: 20, SeedsShort: 20, Goroutines: true, Once: runtime.GOOS != "linux",
				Faults: sim.Faults{PowerFail: 1, Partition: 0.5},
			}
			c.Cluster(t, func(ctx context.Context, w *sim.World) {
				w.Host("database", serveDatabase)
				_ = rondo.Sleep(ctx, 100*time.Millisecond)
				config, err := connected(ctx)
				if err != nil {
					t.Fatal(err)
				}
				db, err := rondo.Offload(ctx, func(context.Context) (database, error) { return open(config) })
				if err != nil {
					t.Fatal(err)
				}
				_ = rondo.Group(ctx, func(g *rondo.Scope) error {
					for i := range 3 {
						g.Go(func(ctx context.Context) error {
							for j := range 10 {
								query := fmt.Sprint("select ", i, j)
								text, err := rondo.Offload(ctx, func(ctx context.Context) (string, error) {
									ctx, cancel := context.WithTimeout(ctx, time.Second)
									defer cancel()
									return db.ask(ctx, query)
								})
								switch {
								case err != nil:
									failed++
								case text != query:
									t.Error(errors.New("the answer to another query: " + text))
								default:
									answered++
								}
							}
							return nil
						})
					}
					return nil
				})
				_ = rondo.OffloadFunc(ctx, func(context.Context) error { db.close(); return nil })
			})
			if answered == 0 || failed == 0 {
				t.Errorf("%d queries were answered and %d failed: want both", answered, failed)
			}
			t.Log(answered, failed)
		})
	}
}
