package peer

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres makes a database cluster, starts its server, and returns a connection
// string. The cluster is removed with the test, so the server does not wait for the
// disk.
func Postgres(t testing.TB) (url string) {
	t.Helper()
	initdb, postgres := Need(t, "initdb"), Need(t, "postgres")
	who, err := unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t)
	if err := who.own(dir); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	make := exec.Command(initdb, "-D", data, "-U", "rondo", "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8")
	make.Dir = dir
	who.run(make)
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	server := exec.Command(postgres, "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off")
	server.Dir = dir
	who.run(server)
	url = "host=" + dir + " user=rondo database=postgres sslmode=disable"
	Start(t, server).Await(t, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		return c.Close(ctx)
	})
	return url
}
