package inspect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// TestWriteLoops: several loops are in a table, in the order of their names and numbers;
// one is not.
func TestWriteLoops(t *testing.T) {
	p := &inspect.Program{}
	for i, name := range []string{"shard-10", "shard-2", "shard-1", "shard-2", "ächt", "7", "shard-99999999999999999999"} {
		l := &inspect.Loop{ID: uint64(1 + i), Name: name, Uptime: time.Minute, Busy: time.Duration(i) * 10 * time.Second, Ready: i, Omitted: 1000 * i}
		if i > 0 {
			l.Conns = new(500 * i)
		}
		p.Loops = append(p.Loops, l)
	}
	p.SortLoops()
	var b strings.Builder
	if err := p.WriteLoops(&b); err != nil {
		t.Fatal(err)
	}
	const want = `
LOOP                         TASKS   CONNS    BUSY   READY   TIMERS     UP
7                             5000    2500    83 %       5        0   1m0s
shard-1                       2000    1000    33 %       2        0   1m0s
shard-2                       1000     500    17 %       1        0   1m0s
shard-2                       3000    1500    50 %       3        0   1m0s
shard-10                         0       -     0 %       0        0   1m0s
shard-99999999999999999999    6000    3000   100 %       6        0   1m0s
ächt                          4000    2000    67 %       4        0   1m0s
`
	if "\n"+b.String() != want {
		t.Errorf("the table is\n%s\nwant\n%s", &b, want)
	}
	b.Reset()
	p.Loops = p.Loops[:1]
	if err := p.WriteLoops(&b); err != nil || b.Len() > 0 {
		t.Errorf("of one loop: %v, %q", err, &b)
	}
}
