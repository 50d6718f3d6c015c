package store

// A store of keys and values over gRPC on the hosts of a cluster: its servers and clients are
// goroutines of grpc-go, unchanged. Porcupine checks what the clients have seen while the
// network is cut. The folder has a package of its own because a goroutine of another library that
// wakes up in real time would disturb the order of those in the simulation.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// A version is a value of a key, and what says which of two is newer.
type version struct {
	Key, Value string
	Number     int64
	Writer     int
}

func (v *version) newer(o *version) bool {
	return cmp.Or(cmp.Compare(v.Number, o.Number), cmp.Compare(v.Writer, o.Writer)) > 0
}

// textCodec has gRPC send JSON.
type textCodec struct{}

func (textCodec) Name() string                       { return "json" }
func (textCodec) Marshal(v any) ([]byte, error)      { return json.Marshal(v) }
func (textCodec) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

// A replica keeps the newest version of each key that it has seen.
type replica struct {
	mu   sync.Mutex
	keys map[string]version
}

type replicaServer interface {
	swap(v *version) *version
}

// swap stores v if it is newer, and returns what is stored then.
func (r *replica) swap(v *version) *version {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.keys[v.Key]; v.newer(&old) {
		r.keys[v.Key] = *v
	}
	now := r.keys[v.Key]
	return &now
}

// replicaService is what protoc would make of a service with one method.
var replicaService = grpc.ServiceDesc{
	ServiceName: "store.Replica", HandlerType: (*replicaServer)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: "Swap",
		Handler: func(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			v := new(version)
			if err := decode(v); err != nil {
				return nil, err
			}
			return srv.(replicaServer).swap(v), nil
		},
	}},
}

// serveReplica is the program of a host.
func serveReplica(ctx context.Context) error {
	return rondo.OffloadFunc(ctx, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", ":80")
		if err != nil {
			return err
		}
		s := grpc.NewServer(grpc.ForceServerCodec(textCodec{}))
		s.RegisterService(&replicaService, &replica{keys: map[string]version{}})
		defer s.Stop()
		return s.Serve(l)
	})
}

// A storeClient reads and writes a majority of the replicas.
type storeClient struct {
	number   int
	replicas []*grpc.ClientConn
	hasty    bool // a mistake: a read believes the first answer
}

// onHost dials on the network of a host.
func onHost(host context.Context) func(ctx context.Context, address string) (net.Conn, error) {
	return func(ctx context.Context, address string) (net.Conn, error) {
		both, cancel := context.WithCancelCause(host)
		defer cancel(nil)
		defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
		return socket.Dial(both, "tcp", address)
	}
}

func newStoreClient(host context.Context, number, replicas int, hasty bool) (*storeClient, error) {
	c := &storeClient{number: number, hasty: hasty}
	for i := range replicas {
		conn, err := grpc.NewClient(fmt.Sprintf("passthrough:///replica%d:80", i), grpc.WithContextDialer(onHost(host)),
			grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(textCodec{})))
		if err != nil {
			return nil, err
		}
		c.replicas = append(c.replicas, conn)
	}
	return c, nil
}

func (c *storeClient) close() (err error) {
	for _, r := range c.replicas {
		err = errors.Join(err, r.Close())
	}
	return err
}

func (c *storeClient) majority() int { return len(c.replicas)/2 + 1 }

var errNoMajority = errors.New("no majority has answered")

// swap sends v to all replicas, and returns the newest version of those that so many answer with.
func (c *storeClient) swap(ctx context.Context, v version, need int) (newest version, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	answers := make(chan *version, len(c.replicas))
	for _, r := range c.replicas {
		go func() {
			got := new(version)
			if r.Invoke(ctx, "/store.Replica/Swap", &v, got, grpc.WaitForReady(true)) != nil {
				got = nil
			}
			answers <- got
		}()
	}
	good := 0
	for range c.replicas {
		if got := <-answers; got != nil {
			if good++; got.newer(&newest) {
				newest = *got
			}
		}
		if good >= need {
			return newest, nil
		}
	}
	return newest, errNoMajority
}

func (c *storeClient) get(ctx context.Context, key string) (string, error) {
	if c.hasty {
		v, err := c.swap(ctx, version{Key: key}, 1)
		return v.Value, err
	}
	v, err := c.swap(ctx, version{Key: key}, c.majority())
	if err == nil && v.Number > 0 { // so that no later read finds an older one
		_, err = c.swap(ctx, v, c.majority())
	}
	return v.Value, err
}

func (c *storeClient) put(ctx context.Context, key, value string) error {
	v, err := c.swap(ctx, version{Key: key}, c.majority())
	if err != nil {
		return err
	}
	_, err = c.swap(ctx, version{Key: key, Value: value, Number: v.Number + 1, Writer: c.number}, c.majority())
	return err
}

// A storeCall is an operation of a client: put if there is a value, else get.
type storeCall struct{ key, value string }

// storeModel is one key of the store.
var storeModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		keys := map[string]int{}
		var all [][]porcupine.Operation
		for _, op := range history {
			key := op.Input.(storeCall).key
			if _, ok := keys[key]; !ok {
				keys[key] = len(all)
				all = append(all, nil)
			}
			all[keys[key]] = append(all[keys[key]], op)
		}
		return all
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		if in := input.(storeCall); in.value != "" {
			return true, in.value
		}
		out, known := output.(string)
		return !known || out == state.(string), state
	},
}

// storeHistory has three clients use a store of three replicas, each on a host of its own, while
// the seed cuts the network.
func storeHistory(ctx context.Context, w *sim.World, hasty bool) *sim.History[storeCall, string] {
	for i := range 3 {
		w.Host(fmt.Sprint("replica", i), serveReplica)
	}
	h, ended := new(sim.History[storeCall, string]), 0
	for i := range 3 {
		w.Host(fmt.Sprint("client", i), func(ctx context.Context) error {
			defer func() { ended++ }()
			c, err := newStoreClient(ctx, i+1, 3, hasty)
			if err != nil {
				return err
			}
			for j := range 10 {
				c.use(ctx, h, j)
				_ = rondo.Sleep(ctx, time.Duration(sim.Choose(ctx, 200))*time.Millisecond)
			}
			return rondo.OffloadFunc(ctx, func(context.Context) error { return c.close() })
		})
	}
	for ended < 3 {
		_ = rondo.Sleep(ctx, time.Second)
	}
	return h
}

// use does one operation, which is written down. The first client writes.
func (c *storeClient) use(ctx context.Context, h *sim.History[storeCall, string], n int) {
	do := storeCall{key: string(rune('a' + sim.Choose(ctx, 8)/7))}
	if c.number == 1 {
		do.value = fmt.Sprint(n)
	}
	op := h.Begin(ctx, do)
	out, err := rondo.Offload(ctx, func(ctx context.Context) (string, error) {
		if do.value != "" {
			return "", c.put(ctx, do.key, do.value)
		}
		return c.get(ctx, do.key)
	})
	if err != nil {
		op.Unknown()
	} else {
		op.End(out)
	}
}

// storeIsRight reports whether porcupine finds an order of the operations that explains them.
func storeIsRight(h *sim.History[storeCall, string]) (right bool, answered int) {
	var ops []porcupine.Operation
	for op := range h.All() {
		one := porcupine.Operation{ClientId: int(op.Client), Input: op.In, Call: op.Called, Return: op.Returned}
		if op.Returned != sim.Pending {
			one.Output = op.Out
			answered++
		}
		ops = append(ops, one)
	}
	return porcupine.CheckOperations(storeModel, ops), answered
}

// badNetwork is what the tests of the store run on. Linux repeats each seed.
var badNetwork = sim.Config{
	Goroutines: true, Once: runtime.GOOS != "linux", Network: sim.Network{Jitter: 50 * time.Millisecond, PacketLoss: 0.1},
	Faults: sim.Faults{Partition: 1, Pause: 0.5, MaxDown: 2},
}

// TestGRPCStore: what clients of the store see is linearizable, whatever is cut.
func TestGRPCStore(t *testing.T) {
	answered, all := 0, 0
	c := badNetwork
	c.Seeds = 20
	c.Cluster(t, func(ctx context.Context, w *sim.World) {
		h := storeHistory(ctx, w, false)
		right, good := storeIsRight(h)
		if !right {
			t.Error("the store is not linearizable")
		}
		answered, all = answered+good, all+h.Len()
	})
	if answered == all || answered < all/2 {
		t.Errorf("%d of %d operations were answered: want most and not all", answered, all)
	}
	t.Logf("%d of %d operations were answered", answered, all)
}

// TestGRPCMistake: some seed shows that a read believes the first answer.
func TestGRPCMistake(t *testing.T) {
	found := 0
	c := badNetwork
	c.Seeds, c.SeedsShort = 20, 20
	c.Cluster(t, func(ctx context.Context, w *sim.World) {
		if right, _ := storeIsRight(storeHistory(ctx, w, true)); !right {
			found++
		}
	})
	if found == 0 {
		t.Error("no seed shows that a read believes the first answer")
	}
}
