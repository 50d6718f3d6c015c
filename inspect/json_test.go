package inspect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// A schema is the part of JSON Schema that schema.json uses.
type schema struct {
	Type       string            `json:"type"`
	Ref        string            `json:"$ref"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	Defs       map[string]schema `json:"$defs"`
	Additional *bool             `json:"additionalProperties"`
}

func readSchema(t *testing.T) schema {
	t.Helper()
	text, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// check holds a value to a schema, in which every property must be listed. It counts
// the properties that it saw.
func (s schema) check(t *testing.T, root schema, at string, v any, seen map[string]bool) {
	t.Helper()
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		def, ok := root.Defs[name]
		if !ok {
			t.Fatalf("%s: there is no %s", at, s.Ref)
		}
		def.check(t, root, name, v, seen)
		return
	}
	kind := map[reflect.Kind]string{reflect.String: "string", reflect.Float64: "integer", reflect.Bool: "boolean", reflect.Slice: "array", reflect.Map: "object"}[reflect.ValueOf(v).Kind()]
	if kind != s.Type {
		t.Errorf("%s is %T; the schema has %s", at, v, s.Type)
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			s.Items.check(t, root, at+"[]", e, seen)
		}
	case map[string]any:
		for name, e := range v {
			p, ok := s.Properties[name]
			if !ok {
				t.Errorf("%s.%s is not in the schema", at, name)
				continue
			}
			seen[at+"."+name] = true
			p.check(t, root, at+"."+name, e, seen)
		}
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				t.Errorf("%s.%s is missing", at, name)
			}
		}
	}
}

// filled gives everything in v that JSON has a value other than zero.
func filled(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				filled(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		filled(v.Index(0))
		filled(v.Index(1))
	case reflect.String:
		v.SetString("<text>\"\\")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(7)
	default:
		v.SetUint(8)
	}
}

// TestSchema: what is written is as schema.json says, and everything that this has
// is written; read again it is the same.
func TestSchema(t *testing.T) {
	var p, empty inspect.Program
	filled(reflect.ValueOf(&p).Elem())
	p.Loops[0].Tasks[1].ID, p.Loops[1].Tasks[1].ID = 9, 9 // no two tasks have one number
	p.Loops[0].Tasks[0].Waiting = p.Loops[0].Tasks[0].What + " <more>"
	p.Loops[1].Tasks[1].Stack = nil
	p.Loops[0].Tasks[0].Parent, p.Loops[1].Tasks[0].Parent = 77, 0 // neither is the owner's host
	p.Loops[0].Tasks[1].WaitOutside()
	calls := []inspect.Frame{{Func: "a"}, {Func: "b"}}
	empty.Loops = []*inspect.Loop{{Tasks: []*inspect.Task{
		{Name: "a", Func: "f"}, {ID: 3, Name: "task-3"},
		{ID: 4, Name: "task-4", Stack: calls}, {ID: 5, Name: "task-5", Stack: calls}, {ID: 6, Name: "task-6", Stack: calls[:1]}, // in one place of memory
	}}, {Tasks: []*inspect.Task{}}}
	root, seen := readSchema(t), make(map[string]bool)
	for _, p := range []*inspect.Program{&p, &empty, {Loops: []*inspect.Loop{}}} {
		var b bytes.Buffer
		if err := p.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		var v any
		if err := json.Unmarshal(b.Bytes(), &v); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		root.check(t, root, "snapshot", v, seen)
		again, err := inspect.ReadJSON(&b)
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("read again (%v) it is\n%+v\nnot\n%+v", err, again, p)
		}
	}
	every := func(at string, s schema) {
		for name := range s.Properties {
			if !seen[at+"."+name] {
				t.Errorf("the schema's %s.%s is not written", at, name)
			}
		}
	}
	every("snapshot", root)
	for name, s := range root.Defs {
		every(name, s)
	}
}

// TestWriteJSONFails: what JSON cannot say, and what cannot be written, is an error.
func TestWriteJSONFails(t *testing.T) {
	var b strings.Builder
	if err := (&inspect.Program{Taken: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}).WriteJSON(&b); err == nil || !strings.Contains(err.Error(), "year") {
		t.Errorf("of the year 10,000: %v, and\n%s", err, &b)
	}
	full := errors.New("full")
	if err := crowd(1, 2).WriteJSON(failing{full}); !errors.Is(err, full) {
		t.Errorf("to a writer that fails: %v", err)
	}
}

// failing is a Writer that fails.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestReadJSON: what is no snapshot is refused with a sentence.
func TestReadJSON(t *testing.T) {
	for text, want := range map[string]string{
		"":               "not a snapshot",
		"{}":             "no version",
		`{"version":1}`:  "no version",
		`{"version":99}`: "update the tool",
		`{"version":1,"pid":1,"frames":[],"stacks":[[0]]}`:                                                               "call 0 of 0",
		`{"version":1,"pid":1,"loops":[{}]}`:                                                                             "a loop is empty",
		`{"version":1,"pid":1,"loops":[{"id":1,"tasks":[{}]}]}`:                                                          "a task is empty",
		`{"version":1,"pid":1,"loops":[{"id":1,"tasks":[{"id":1,"stack":3}]}],"stacks":[],"functions":["f"]}`:            "none of 0, 1 and 0",
		`{"version":1,"pid":1,"loops":[{"id":1,"tasks":[{"id":1,"site":1}]}],"frames":[{"func":"a"}],"functions":["f"]}`: "none of 0, 1 and 1",
		`{"version":1,"pid":1,"loops":[{"id":1,"tasks":[{"id":1,"owner":[1,18446744073709551615]}]}],"functions":["f"]}`: "a scope at depth 18446744073709551615",
		`{"version":1,"pid":1,"loops":[{"id":1,"tasks":[{"id":7},{"id":8},{"id":7}]}],"functions":["f"]}`:                "two tasks with one number",
	} {
		if _, err := inspect.ReadJSON(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

// TestReadRecording: after an error nothing more comes, nor when the caller has had enough.
func TestReadRecording(t *testing.T) {
	var b strings.Builder
	for range 2 {
		if err := crowd(1, 2).WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(b.String(), ":null") {
		t.Errorf("a list is written twice: %s", &b)
	}
	for text, want := range map[string]int{b.String(): 2, b.String() + "{}{}": 3} {
		n := 0
		for p, err := range inspect.ReadRecording(strings.NewReader(text)) {
			if n++; (err == nil) != (n < 3) || err == nil && len(p.Loops) != 1 {
				t.Errorf("snapshot %d: %v, %v", n, p, err)
			}
			if n > want {
				break
			}
		}
		if n != want {
			t.Errorf("%d snapshots, want %d", n, want)
		}
	}
	for range inspect.ReadRecording(strings.NewReader(b.String())) {
		break
	}
}
