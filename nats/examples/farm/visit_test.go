//go:build unix

package main

// The clients of the farm: producers of jobs, and visitors who ask each worker all the time. A
// worker is whole from an answer on until it is harmed. A whole worker answers every request that
// needs no broker.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/rondo-go/rondo"
)

// visits are what visitors got from workers that were whole all the time.
type visits struct {
	here, double []time.Duration // how long the answers took
	failed       []error         // of /here
	refused      int             // of /double: no answer of another worker
}

// percentile returns the time that a share of them took at most.
func percentile(all []time.Duration, share float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[int(share*float64(len(all)-1))].Round(10 * time.Microsecond)
}

// ask sends a request to a worker, and returns the answer.
func ask(ctx context.Context, c *http.Client, method, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s %s", method, url, answer.Status, text)
	}
	return string(text), err
}

// endingMost is more than a worker takes to end by itself, with all times that it gives others.
const endingMost = time.Minute

// visit asks a worker until the farm is to end. A worker that ends by itself refuses connections
// before its process has ended, so a failure counts when that worker has answered /here again, or
// has not ended for long.
func (f *farm) visit(ctx context.Context, p *process, c *http.Client) error {
	var doubtful []error // failures of a whole worker that may be ending by itself
	var since time.Time
	for n := 0; !f.over || len(doubtful) > 0; n++ {
		path, want := fmt.Sprint("/here/", n), fmt.Sprint(n, "\n")
		if n%2 == 1 {
			path, want = fmt.Sprint("/double/", n), fmt.Sprintf("%d%d\n", n, n)
		}
		whole, harms, begin := p.whole, p.harms, time.Now()
		var got string
		err := rondo.Timeout(ctx, 10*time.Second, func(ctx context.Context) (err error) {
			got, err = ask(ctx, c, http.MethodGet, p.address+path)
			return err
		})
		if err := rondo.Check(ctx); err != nil {
			return err
		}
		if err == nil && got != want {
			return fmt.Errorf("%s answered %q", path, got)
		}
		here := n%2 == 0
		switch {
		case !whole || harms != p.harms || p.gone():
			doubtful = nil
		case here && err != nil:
			if len(doubtful) == 0 {
				since = begin
			}
			doubtful = append(doubtful, err)
		default:
			f.note(n, time.Since(begin), err)
		}
		if here && err == nil || time.Since(since) > endingMost { // it goes on
			f.visits.failed = append(f.visits.failed, doubtful...)
			doubtful = nil
		}
		p.whole = !p.harmed && !p.gone() && (p.whole && harms == p.harms || err == nil)
		if err := rondo.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// note notes an answer of a worker that was whole, or that it refused a call.
func (f *farm) note(n int, took time.Duration, err error) {
	switch v := &f.visits; {
	case n%2 == 1 && err != nil:
		v.refused++
	case n%2 == 1:
		v.double = append(v.double, took)
	default:
		v.here = append(v.here, took)
	}
}

// produce has workers store jobs, until the farm is to end. Each job is sent to one worker after
// the other until one has answered that it is stored.
func (f *farm) produce(ctx context.Context, producer int, c *http.Client) error {
	workers := f.all[size:]
	for n := 0; !f.over; n++ {
		id := fmt.Sprint(producer, "-", n)
		for i := producer + n; ; i++ {
			err := rondo.Timeout(ctx, 5*time.Second, func(ctx context.Context) error {
				_, err := ask(ctx, c, http.MethodPost, workers[i%size].address+"/jobs/"+id)
				return err
			})
			if err == nil {
				break
			}
			if stop := rondo.Sleep(ctx, 20*time.Millisecond); stop != nil {
				return errors.Join(stop, err)
			}
		}
		f.jobs = append(f.jobs, id)
		if err := rondo.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
