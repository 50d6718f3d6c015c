package main

// The programs of background.go, sleep.go and sockets.go on the runtime of
// package minio. They print the same.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/seeds/internal/bare"
	"github.com/rondo-go/rondo/examples/seeds/minio/minio"
)

// none is the result of what has none.
type none = struct{}

func runByHand(w io.Writer) error {
	var r minio.Runtime
	_, err := minio.Run(&r, func(*minio.Env) (none, error) { return none{}, errors.New("moo") })
	fmt.Fprintln(w, "the first main task:", err)
	value, err := minio.Run(&r, func(*minio.Env) (int, error) { return 2, nil })
	fmt.Fprintln(w, "the second main task:", value)
	return err
}

func spawnByHand(w io.Writer) error {
	_, err := minio.Run(new(minio.Runtime), func(e *minio.Env) (none, error) {
		fmt.Fprintln(w, "main begins")
		for i := range 10 {
			if _, err := minio.Spawn(e, func(*minio.Env) (none, error) {
				fmt.Fprintln(w, "background task", i)
				return none{}, nil
			}); err != nil {
				return none{}, err
			}
		}
		fmt.Fprintln(w, "main is done")
		return none{}, nil
	})
	return err
}

func lostByHand(w io.Writer) error {
	r := minio.Runtime{OnError: func(err error) { fmt.Fprintln(w, "reported:", err) }}
	_, err := minio.Run(&r, func(e *minio.Env) (none, error) {
		_, err := minio.Spawn(e, func(*minio.Env) (none, error) { return none{}, errors.New("moo") })
		fmt.Fprintln(w, "main goes on")
		return none{}, err
	})
	return err
}

func joinByHand(w io.Writer) error {
	_, err := minio.Run(new(minio.Runtime), func(e *minio.Env) (none, error) {
		fmt.Fprintln(w, "main begins")
		sum := 0
		for i := range 10 {
			task, err := minio.Spawn(e, func(*minio.Env) (int, error) {
				fmt.Fprintln(w, "background task", i)
				return i, nil
			})
			if err != nil {
				return none{}, err
			}
			n, err := task.Join(e)
			if err != nil {
				return none{}, err
			}
			sum += n
		}
		fmt.Fprintln(w, "the sum is", sum)
		return none{}, nil
	})
	return err
}

func sleepByHand(w io.Writer) error {
	_, err := minio.Run(new(minio.Runtime), func(e *minio.Env) (none, error) {
		start := time.Now()
		for range 5 {
			if err := minio.Sleep(e, 2*time.Second); err != nil {
				return none{}, err
			}
			fmt.Fprintln(w, "sleepy after", time.Since(start).Round(time.Second))
		}
		return none{}, nil
	})
	return err
}

// descriptorsByHand serves three connections and ends. The clients are on a loop of
// Rondo, on another goroutine.
func descriptorsByHand(w io.Writer) error {
	fd, address, err := bare.Listen()
	if err != nil {
		return err
	}
	defer bare.Close(fd)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	visited := make(chan error, 1)
	go func() {
		visited <- rondo.Run(ctx, func(ctx context.Context) error { return visit(ctx, w, address) })
	}()
	_, err = minio.Run(new(minio.Runtime), func(e *minio.Env) (none, error) {
		for range 3 {
			if err := minio.WaitRead(e, fd); err != nil {
				return none{}, err
			}
			conn, err := bare.Accept(fd)
			if err != nil {
				return none{}, err
			}
			if _, err := minio.Spawn(e, func(e *minio.Env) (none, error) { return none{}, serveByHand(e, conn) }); err != nil {
				return none{}, err
			}
		}
		return none{}, nil
	})
	if err != nil {
		cancel() // the clients would wait for ever
	}
	return errors.Join(err, <-visited)
}

func serveByHand(e *minio.Env, fd int) error {
	defer bare.Close(fd)
	if err := minio.WaitRead(e, fd); err != nil {
		return err
	}
	var data [100]byte
	n, err := bare.Read(fd, data[:])
	for left := data[:n]; err == nil && len(left) > 0; {
		if err = minio.WaitWrite(e, fd); err == nil {
			n, err = bare.Write(fd, left)
			left = left[n:]
		}
	}
	return err
}
