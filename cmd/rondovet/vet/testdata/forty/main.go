// Command forty makes one of forty typical mistakes: main NAME. With -debug the loop has
// Debug, and with -hang another HangAfter. It is stopped by the test that runs it, because
// some mistakes hang.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rondo-go/rondo"
)

var programs = map[string]func(ctx context.Context) error{
	"01": backgroundSleep, "02": backgroundGo, "03": backgroundNow, "04": backgroundListen, "05": standardSleep,
	"06": compute, "07": mutexAcrossWait, "08": channelOfTasks, "09": waitGroup, "10": contextDone,
	"11": goroutineSleeps, "12": goroutineStarts, "13": goroutinePuts, "14": goroutineSets, "15": errorUnread,
	"16": twoLocks, "17": nobodyPuts, "18": lockTwice, "19": unlockUnlocked, "20": forgottenWait,
	"21": dropsInLoop, "22": keptCtx, "23": keptLoop, "24": keptScope, "25": twoReaders,
	"26": panics, "27": runInTask, "28": waitsForItself, "29": offloadOuter, "30": offloadInner,
	"31": callbackWaits, "32": standardListener, "33": wrappedListener, "34": leftReader, "35": outerInTimeout,
	"36": afterFunc, "37": barrierShort, "38": noFunction, "39": everyZero, "40": nilQueue,
}

var keptContext context.Context
var keptRondo *rondo.Loop

func main() {
	debug := flag.Bool("debug", false, "turn on Debug")
	hang := flag.Duration("hang", 200*time.Millisecond, "HangAfter of the loop")
	flag.Parse()
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		keptContext, keptRondo = ctx, rondo.LoopOf(ctx)
		return nil
	})
	r := rondo.Runner{Debug: *debug, EndDeadlock: 50 * time.Millisecond, HangAfter: *hang}
	if err := r.Run(context.Background(), programs[flag.Arg(0)]); err != nil {
		fmt.Fprintf(os.Stderr, "%+v\n", err)
	}
}

var errFull = errors.New("disk full")

func nothing(context.Context) error { return nil }

func read(r io.Reader) error {
	_, err := io.ReadAll(r)
	return err
}
