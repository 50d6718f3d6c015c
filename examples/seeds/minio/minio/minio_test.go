package minio_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/seeds/minio/minio"
)

func TestMain(m *testing.M) { program.Main(m, nil) }

// TestFailure has the main task fail while another one sleeps, which is unwound.
func TestFailure(t *testing.T) {
	fault := errors.New("fault")
	unwound := false
	n, err := minio.Run(new(minio.Runtime), func(e *minio.Env) (int, error) {
		if _, err := minio.Spawn(e, func(e *minio.Env) (int, error) {
			defer func() { unwound = true }()
			return 0, minio.Sleep(e, time.Hour)
		}); err != nil {
			return 0, err
		}
		return 7, errors.Join(fault, minio.Sleep(e, 0))
	})
	if n != 7 || !errors.Is(err, fault) || !unwound {
		t.Errorf("it gave %d, %v, and the other is unwound: %v", n, err, unwound)
	}
}

// TestDeadlock has a task wait for itself.
func TestDeadlock(t *testing.T) {
	_, err := minio.Run(new(minio.Runtime), func(e *minio.Env) (int, error) {
		var self *minio.JoinHandle[int]
		self, err := minio.Spawn(e, func(e *minio.Env) (int, error) { return self.Join(e) })
		if err != nil {
			return 0, err
		}
		return self.Join(e)
	})
	if err == nil || !strings.Contains(err.Error(), "wait for each other") {
		t.Errorf("it gave %v", err)
	}
}

// TestTimers has tasks that sleep for different times: they wake in the order of
// their deadlines, and an error that is joined is not reported.
func TestTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := errors.New("fault")
		r := minio.Runtime{OnError: func(err error) { t.Error("reported:", err) }}
		var order []time.Duration
		_, err := minio.Run(&r, func(e *minio.Env) (int, error) {
			var last *minio.JoinHandle[int]
			for _, d := range []time.Duration{2, 5, 1, 4, 3} {
				h, err := minio.Spawn(e, func(e *minio.Env) (int, error) {
					err := minio.Sleep(e, d*time.Second)
					order = append(order, d)
					if d == 5 {
						err = fault
					}
					return int(d), err
				})
				if err != nil {
					return 0, err
				}
				if d == 5 {
					last = h
				}
			}
			n, err := last.Join(e)
			if n != 5 || !errors.Is(err, fault) {
				t.Errorf("the last gave %d, %v", n, err)
			}
			return 0, nil
		})
		if err != nil || len(order) != 5 || order[0] != 1 || order[4] != 5 || order[2] != 3 {
			t.Errorf("%v, and they woke in the order %v", err, order)
		}
	})
}
