package sim_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// passes runs a test as go test does, and reports whether it passes. With -v the test would be
// named in the output of the example.
func passes(name string, test func(t *testing.T)) bool {
	verbose := flag.Lookup("test.v").Value
	defer verbose.Set(verbose.String())
	_ = verbose.Set("false")
	all := func(string, string) (bool, error) { return true, nil }
	return testing.RunTests(all, []testing.InternalTest{{Name: name, F: test}})
}

// An hour takes no time, and times can be compared exactly. The body runs for 20 seeds,
// each of which is an order of what is ready.
func ExampleTest() {
	TestNap := func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			start := rondo.Now(ctx)
			if err := rondo.Sleep(ctx, time.Hour); err != nil {
				t.Fatal(err)
			}
			if d := rondo.Now(ctx).Sub(start); d != time.Hour {
				t.Errorf("an hour took %v", d)
			}
		})
	}
	fmt.Println(passes("TestNap", TestNap))
	// Output: true
}

// A server that leads shows it: the picture of a failure draws when it did.
func ExampleShow() {
	lead := func(ctx context.Context, term int) {
		sim.Show(ctx, "leads in term", term)
	}
	lead(context.Background(), 3) // in production it does nothing
	TestLead := func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) { lead(ctx, 3) })
	}
	fmt.Println(passes("TestLead", TestLead))
	// Output: true
}

// go test -fuzz=FuzzNap lets Go's fuzzer choose the seeds of TestNap.
func ExampleFuzz() {
	TestNap := func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) { _ = rondo.Sleep(ctx, time.Hour) })
	}
	FuzzNap := func(f *testing.F) { sim.Fuzz(f, TestNap) }
	_ = FuzzNap
}

// Every order of three tasks: no value is lost. Keep the body tiny.
func ExampleExplore() {
	TestNothingIsLost := func(t *testing.T) {
		sim.Explore(t, func(ctx context.Context) {
			q, sum := rondo.NewQueue[int](1), 0
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				for v := range 3 {
					g.Go(func(ctx context.Context) error { return q.Put(ctx, v) })
				}
				for range 3 {
					v, err := q.Get(g)
					if err != nil {
						return err
					}
					sum += v
				}
				return nil
			})
			if err != nil || sum != 0+1+2 {
				t.Errorf("the sum is %d, %v", sum, err)
			}
		})
	}
	fmt.Println(passes("TestNothingIsLost", TestNothingIsLost))
	// Output: true
}

// Random numbers that the seed repeats.
func ExampleRand() {
	TestBackoff := func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			pause := time.Duration(sim.Rand(ctx).IntN(1000)) * time.Millisecond
			if err := rondo.Sleep(ctx, pause); err != nil {
				t.Fatal(err)
			}
		})
	}
	fmt.Println(passes("TestBackoff", TestBackoff))
	// Output: true
}

// More seeds for one test.
func ExampleConfig() {
	TestThoroughly := func(t *testing.T) {
		sim.Config{Seeds: 200, SeedsShort: 20}.Test(t, func(ctx context.Context) {
			if err := rondo.Yield(ctx); err != nil {
				t.Fatal(err)
			}
		})
	}
	fmt.Println(passes("TestThoroughly", TestThoroughly))
	// Output: true
}

// A choice of the test's own: here when a client gives up.
func ExampleChoose() {
	TestGivesUp := func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			patience := time.Duration(1+sim.Choose(ctx, 3)) * time.Second
			err := rondo.Timeout(ctx, patience, rondo.WaitCanceled)
			if !rondo.TimedOut(ctx, err) {
				t.Error(err)
			}
		})
	}
	fmt.Println(passes("TestGivesUp", TestGivesUp))
	// Output: true
}

// The test must have seen both orders, or it shows nothing.
func ExampleSometimes() {
	TestBothOrders := func(t *testing.T) {
		sim.Explore(t, func(ctx context.Context) {
			first := ""
			run := func(name string) func(ctx context.Context) error {
				return func(ctx context.Context) error {
					if first == "" {
						first = name
					}
					return nil
				}
			}
			a, b := rondo.Go(ctx, run("a")), rondo.Go(ctx, run("b"))
			if err := errors.Join(a.Wait(ctx), b.Wait(ctx)); err != nil {
				t.Fatal(err)
			}
			sim.Sometimes(ctx, first == "a", "a is first")
			sim.Sometimes(ctx, first == "b", "b is first")
		})
	}
	fmt.Println(passes("TestBothOrders", TestBothOrders))
	// Output: true
}

// What must hold at this place in every run. It costs nothing outside a simulation, so it
// may stand in the program.
func ExampleAlways() {
	TestLimit := func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			slots, inside := rondo.NewSemaphore(2), 0
			work := func(ctx context.Context) error {
				if err := slots.Acquire(ctx); err != nil {
					return err
				}
				defer slots.Release()
				inside++
				sim.Always(ctx, inside <= 2, "at most two are inside")
				err := rondo.Yield(ctx)
				inside--
				return err
			}
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				for range 4 {
					g.Go(work)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	fmt.Println(passes("TestLimit", TestLimit))
	// Output: true
}

// A machine that crashes and restarts. Package socket works between the hosts of a cluster.
func ExampleCluster() {
	TestRestart := func(t *testing.T) {
		sim.Cluster(t, func(ctx context.Context, w *sim.World) {
			boots := 0
			server := w.Host("server", func(ctx context.Context) error {
				boots++
				return rondo.Sleep(ctx, time.Hour) // until it crashes
			})
			for want := 1; want <= 2; want++ {
				if err := rondo.Sleep(ctx, time.Minute); err != nil { // until it is up
					t.Fatal(err)
				}
				if boots != want {
					t.Errorf("it was booted %d times", boots)
				}
				server.Crash()
				server.Restart()
			}
		})
	}
	fmt.Println(passes("TestRestart", TestRestart))
	// Output: true
}

// A file of a simulated disk is gone with the test.
func ExampleDisk() {
	TestFile := func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			f, err := sim.Disk(ctx).OpenFile("/log", os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(f, "begin"); err != nil {
				t.Error(err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	fmt.Println(passes("TestFile", TestFile))
	// Output: true
}

// A program that stores data uses an FS, which is a simulated disk in a test and otherwise the
// disk of the machine. Here a file gets its name when all of it is safe.
func ExampleFS() {
	save := func(disk sim.FS, text string) error {
		f, err := disk.OpenFile("state.new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		_, err = io.WriteString(f, text)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return err
		}
		return errors.Join(disk.Rename("state.new", "state"), disk.SyncDir("."))
	}
	TestSave := func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			disk := sim.Disk(ctx)
			if err := save(disk, "first"); err != nil {
				t.Fatal(err)
			}
			files, err := disk.ReadDir(".")
			if err != nil || len(files) != 1 || files[0].Name() != "state" {
				t.Errorf("the disk has %v: %v", files, err)
			}
		})
	}
	fmt.Println(passes("TestSave", TestSave))
	// Output: true
}

func ExampleHostOf() {
	TestNames := func(t *testing.T) {
		sim.Cluster(t, func(ctx context.Context, w *sim.World) {
			w.Host("node-1", func(ctx context.Context) error {
				if name := sim.HostOf(ctx).Name(); name != "node-1" {
					t.Errorf("the host is %s", name)
				}
				return nil
			})
			if err := rondo.Sleep(ctx, time.Second); err != nil {
				t.Error(err)
			}
		})
	}
	fmt.Println(passes("TestNames", TestNames))
	// Output: true
}
