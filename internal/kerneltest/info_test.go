package kerneltest

import (
	"context"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
)

// TestAllTasks: AllTasks lists the tasks of every loop, from outside and from a
// task. For a loop that hangs there is one entry, and nobody waits for it.
func TestAllTasks(t *testing.T) {
	if got := rondo.AllTasks(); len(got) != 0 {
		t.Errorf("without a loop AllTasks returned %v", got)
	}
	up, down := make(chan bool), make(chan bool)
	go func() {
		r := rondo.Runner{Name: "other"}
		_ = r.Run(context.Background(), func(ctx context.Context) error {
			rondo.Go(ctx, forever).SetName("waiter")
			_ = rondo.Yield(ctx)
			up <- true
			<-down // the loop hangs
			up <- true
			_, _, err := rondo.Receive(ctx, down)
			return err
		})
		up <- true
	}()
	<-up
	names := func(infos []rondo.TaskInfo) (names []string) {
		for _, i := range infos {
			names = append(names, i.Loop+"/"+i.Name+"/"+i.State)
		}
		return names
	}
	var inside []string
	r := rondo.Runner{Name: "own"}
	if err := r.Run(t.Context(), func(ctx context.Context) error {
		inside = names(rondo.AllTasks())
		return nil
	}); err != nil {
		t.Error(err)
	}
	if want := []string{"other//busy", "own/main/running"}; !slices.Equal(inside, want) {
		t.Errorf("in a task AllTasks returned %q, want %q", inside, want)
	}
	down <- true
	<-up
	want := []string{"other/main/waiting", "other/waiter/waiting"}
	outside := names(rondo.AllTasks())
	if len(outside) == 2 && outside[0] == "other/main/running" {
		want[0] = outside[0] // it is on its way to Receive
	}
	if !slices.Equal(outside, want) {
		t.Errorf("outside AllTasks returned %q, want %q", outside, want)
	}
	down <- true
	<-up
}
