package httptask_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
)

// TestDebugIsQuiet: with Debug, serving, asking and the end are not warned of.
func TestDebugIsQuiet(t *testing.T) {
	said := new(logbook)
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(said, nil)))
	r := rondo.Runner{Debug: true}
	if err := r.Run(t.Context(), func(ctx context.Context) error {
		l := listen(t)
		s := &httptask.Server{HTTP: http.Server{Handler: http.NotFoundHandler()}}
		served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		client := httptask.Client(ctx)
		a, err := client.Get("http://" + l.Addr().String())
		if err != nil {
			return err
		}
		client.CloseIdleConnections()
		err = errors.Join(a.Body.Close(), s.Shutdown(ctx))
		if end := served.Wait(ctx); end != http.ErrServerClosed {
			err = errors.Join(err, end)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if strings.Contains(said.String(), "outer scope") {
		t.Errorf("it was said:\n%s", said)
	}
}
