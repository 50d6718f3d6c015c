package rondo

// The table beside the kernel's records: at each offset there is a field of the type that package
// layout says.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/layout"
	"github.com/rondo-go/rondo/internal/pace"
)

// records are the kernel's structures, by the first part of the names of their
// offsets.
var records = map[string]reflect.Type{
	"Loop": reflect.TypeFor[Loop](), "Task": reflect.TypeFor[Task](), "Extra": reflect.TypeFor[taskExtra](), "Worker": reflect.TypeFor[worker](),
	"List": reflect.TypeFor[WaitList](), "Scope": reflect.TypeFor[Scope](), "Timer": reflect.TypeFor[timer](), "Nested": reflect.TypeFor[gid.Nesting[Task]](),
	"Selection": reflect.TypeFor[selection](), "Place": reflect.TypeFor[place](), "Server": reflect.TypeFor[kernel.Server](),
	"Mutex": reflect.TypeFor[Mutex](), "Readwrite": reflect.TypeFor[RWMutex](), "Run": reflect.TypeFor[run](), "Offload": reflect.TypeFor[offloadCall](), "Rest": reflect.TypeFor[scopeExtra](),
}

// TestRecordOffsets reads the names of the offsets, and the types of the fields there,
// from the source of package layout.
func TestRecordOffsets(t *testing.T) {
	names, types := offsetsOf(t)
	if len(names) != layout.Count {
		t.Fatalf("the source has %d offsets, want %d", len(names), layout.Count)
	}
	taken := make(map[string]map[uint16]string)
	for i, name := range names {
		end := strings.IndexFunc(name[1:], func(c rune) bool { return c >= 'A' && c <= 'Z' }) + 1
		kind, offset := name[:end], layoutTable.Offsets[i]
		record := records[kind]
		if record == nil {
			t.Errorf("%s is the offset of no record", name)
			continue
		}
		if name[end:] == "Size" {
			if uintptr(offset) != record.Size() {
				t.Errorf("%s = %d, want %d", name, offset, record.Size())
			}
			continue
		}
		if taken[kind] == nil {
			taken[kind] = make(map[uint16]string)
		}
		if other := taken[kind][offset]; other != "" {
			t.Errorf("%s and %s are both at %d", other, name, offset)
		}
		taken[kind][offset] = name
		if !hasField(record, uintptr(offset), types[i]) {
			t.Errorf("%s: at %d of %v there is no %s", name, offset, record, types[i])
		}
	}
}

// TestRecordTable: the parts of the table are where a reader looks for them, and
// the table has been opened.
func TestRecordTable(t *testing.T) {
	var table layout.Table
	for _, c := range []struct {
		what       string
		want, have uintptr
	}{
		{"Version", unsafe.Offsetof(table.Version), layout.AtVersion}, {"Size", unsafe.Offsetof(table.Size), layout.AtSize},
		{"Self", unsafe.Offsetof(table.Self), layout.AtSelf}, {"Loops", unsafe.Offsetof(table.Loops), layout.AtLoops},
		{"Marker", unsafe.Offsetof(table.Marker), layout.AtMarker}, {"Offsets", unsafe.Offsetof(table.Offsets), layout.AtOffsets},
	} {
		if c.want != c.have {
			t.Errorf("%s is at %d, and readers look for it at %d", c.what, c.want, c.have)
		}
	}
	if layoutTable.Self != &layoutTable || layoutTable.Version != layout.Version || uintptr(layoutTable.Size) != unsafe.Sizeof(table) || layoutTable.Loops != unsafe.Pointer(&loops.Live) {
		t.Errorf("the table is %+v", layoutTable)
	}
}

// TestServersRecord: a reader from outside may have an old list of a loop's servers. It stays as it
// was, and a server that has been removed no longer says that it is one.
func TestServersRecord(t *testing.T) {
	l := new(Loop)
	var servers [3]kernel.Server
	var lists [][]*kernel.Server
	for i := range servers {
		(*loopDoor)(l).AddServer(&servers[i])
		lists = append(lists, l.servers)
	}
	(*loopDoor)(l).RemoveServer(&servers[0])
	(*loopDoor)(l).AddServer(new(kernel.Server))
	for n, list := range lists {
		for i, s := range list {
			if len(list) != n+1 || s != &servers[i] {
				t.Errorf("an old list of %d servers has changed", n+1)
			}
		}
	}
	if servers[0].Self != nil || servers[1].Self != &servers[1] || len(l.servers) != 3 || l.servers[0] != &servers[1] {
		t.Errorf("after one has been removed %d are listed, which it still says of itself: %v", len(l.servers), servers[0].Self != nil)
	}
}

// offsetsOf returns the constants of package layout that are offsets, in their
// order, and the types that their comments begin with.
func offsetsOf(t *testing.T) (names, types []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "internal/layout/layout.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST || group.Specs[len(group.Specs)-1].(*ast.ValueSpec).Names[0].Name != "Count" {
			continue
		}
		for _, s := range group.Specs[:len(group.Specs)-1] {
			v := s.(*ast.ValueSpec)
			kind := strings.TrimSpace(v.Comment.Text())
			if end := strings.IndexAny(kind, ",:"); end >= 0 {
				kind = kind[:end]
			}
			names, types = append(names, v.Names[0].Name), append(types, kind)
		}
	}
	return names, types
}

// hasField reports whether there is a field of a type at an offset of a structure,
// or of a structure inside it. what is the type as package layout names it.
func hasField(in reflect.Type, offset uintptr, what string) bool {
	for f := range in.Fields() {
		at := offset - f.Offset
		switch {
		case at == 0 && is(f.Type, what):
			return true
		case at < f.Type.Size() && f.Type.Kind() == reflect.Struct && hasField(f.Type, at, what):
			return true
		}
	}
	return false
}

func is(t reflect.Type, what string) bool {
	switch what {
	case "a pointer":
		return t.Kind() == reflect.Pointer || strings.HasPrefix(t.String(), "atomic.Pointer[")
	case "func":
		return t.Kind() == reflect.Func
	case "any":
		return t.Kind() == reflect.Interface && t.NumMethod() == 0
	}
	return t.Kind().String() == what || strings.ReplaceAll(t.String(), "rondo.", "") == what
}

// TestRecordSizes: a program may have a million tasks, and the sizes are those of the
// allocator, for processors of 64 bits. One byte more costs 16, or 32.
func TestRecordSizes(t *testing.T) {
	for what, size := range map[string][2]uintptr{
		"Task":      {unsafe.Sizeof(Task{}), 208},
		"worker":    {unsafe.Sizeof(worker{}), 224},
		"taskExtra": {unsafe.Sizeof(taskExtra{}), 48},
	} {
		if size[0] > size[1] {
			t.Errorf("%s has %d bytes, want %d at most", what, size[0], size[1])
		}
	}
}

// TestRecordCosts: what tasks are charged with is where a reader looks for it.
func TestRecordCosts(t *testing.T) {
	var c pace.Cost
	var all pace.Costs
	var h pace.Held
	for what, at := range map[string][2]uintptr{
		"Waker":        {unsafe.Offsetof(c.Waker), layout.CostWaker},
		"a Cost's end": {unsafe.Sizeof(c), layout.CostSize}, "Unknown": {unsafe.Offsetof(all.Unknown), layout.CostsUnknown},
		"Steps": {unsafe.Offsetof(all.Steps), layout.CostsHeld}, "Count": {unsafe.Offsetof(all.Count), layout.CostsCount},
		"the ring": {uintptr(len(all.Steps)), layout.CostsRing}, "Began": {unsafe.Offsetof(h.Began), layout.HeldBegan},
		"Took": {unsafe.Offsetof(h.Took), layout.HeldTook}, "Task": {unsafe.Offsetof(h.Task), layout.HeldTask}, "a Held's end": {unsafe.Sizeof(h), layout.HeldSize},
	} {
		if at[0] != at[1] {
			t.Errorf("%s is at %d, and readers look for it at %d", what, at[0], at[1])
		}
	}
}
