package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
)

var copiesRule = rule{
	name: "copies",
	law: "An exported struct holds what go vet's copylocks finds, so that it reports a copy: a Mutex, or a nocopy.Field. " +
		"The table of copies_test.go has those that may be copied, and why.",
	check: func(t *tree) []breach { return t.copies(mayBeCopied) },
	onSample: func(t *tree) []breach {
		return t.copies(map[string]string{"rondo.Gone": "why", "rondo.Reason": "a value"})
	},
	bad: []sample{
		{files{"a.go": "package rondo\ntype Reason struct{}\ntype Gone struct{}\ntype Event struct{ set bool }\n"}, "copy of rondo.Event"},
		{files{"a.go": "package rondo\ntype Reason struct{}\ntype Gone struct{}\ntype Event[T any] struct{ list *lock }\n" + lockType}, "copy of rondo.Event"},
		{files{"a.go": "package rondo\ntype Reason struct{}\ntype Gone struct{}\ntype M struct{}\nfunc (*M) Lock(int) {}\nfunc (*M) Unlock() {}\n"}, "copy of rondo.M"},
		{files{"a.go": "package rondo\ntype Reason struct{}\ntype Gone struct{ l lock }\n" + lockType}, "unneeded row: rondo.Gone"},
	},
	good: files{
		"a.go": "package rondo\nimport \"sync\"\ntype Reason struct{}\ntype Gone struct{}\ntype own struct{}\ntype A struct{ mu sync.Mutex }\n" +
			"type B[T any] struct{ a [2]A }\ntype C struct{ _ lock; B[int] }\ntype D interface{}\n" + lockType,
	},
}

const lockType = "type lock struct{}\nfunc (*lock) Lock() {}\nfunc (*lock) Unlock() {}\n"

// public packages are those in api, but for the modules that are not the root's.
var publicDirs = []string{".", "broadcast", "coro", "guest", "httptask", "inspect", "process", "shard", "signals", "sim", "slogtask", "socket"}

func (t *tree) copies(table map[string]string) (found []breach) {
	var dirs []string
	for _, s := range t.source {
		if !s.test && slices.Contains(publicDirs, s.dir) && !slices.Contains(dirs, s.dir) {
			dirs = append(dirs, s.dir)
		}
	}
	known := make(map[string]bool)
	for _, p := range t.typed(dirs...) {
		for _, s := range p.files {
			for _, d := range s.ast.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.TYPE {
					continue
				}
				for _, spec := range g.Specs {
					o, ok := p.info.Defs[spec.(*ast.TypeSpec).Name].(*types.TypeName)
					if !ok || !o.Exported() || o.IsAlias() {
						continue
					}
					if _, ok := o.Type().Underlying().(*types.Struct); !ok {
						continue
					}
					name := path.Base(importPath(s.dir)) + "." + o.Name()
					known[name] = true
					switch guarded := hasLock(o.Type()); {
					case guarded && table[name] != "":
						found = append(found, breach{file: s.path, line: t.line(spec.Pos()), what: "unneeded row: " + name})
					case !guarded && table[name] == "":
						found = append(found, breach{file: s.path, line: t.line(spec.Pos()), what: "copy of " + name + " goes unnoticed",
							hint: "give it a field of a type with Lock and Unlock, or a row that says why it may be copied"})
					}
				}
			}
		}
	}
	for name := range table {
		if !known[name] {
			found = append(found, breach{file: "internal/tidy/copies_test.go", what: "unneeded row: " + name})
		}
	}
	return found
}

// hasLock reports whether copylocks of go vet finds a lock in a value of type t: a type of which
// the pointer has the methods Lock and Unlock, and the value has not.
func hasLock(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Interface:
		return false
	case *types.Array:
		return hasLock(u.Elem())
	case *types.Struct:
		if methods := types.NewMethodSet(types.NewPointer(t)); has(methods, "Lock") && has(methods, "Unlock") && !has(types.NewMethodSet(t), "Lock") {
			return true
		}
		for f := range u.Fields() {
			if hasLock(f.Type()) {
				return true
			}
		}
	}
	return false
}

func has(methods *types.MethodSet, name string) bool {
	return slices.ContainsFunc(slices.Collect(methods.Methods()), func(m *types.Selection) bool {
		return strings.EqualFold(m.Obj().Name(), name) && m.Type().(*types.Signature).Params().Len() == 0 // Lock(ctx) is none
	})
}

// mayBeCopied are the structs of which a copy is a value of its own, and why.
var mayBeCopied = map[string]string{
	"coro.Yielder":           "a function",
	"inspect.Brief":          data,
	"inspect.Flight":         data,
	"inspect.FlightSaver":    data,
	"inspect.FlightLoop":     data,
	"inspect.FlightStep":     data,
	"inspect.Frame":          data,
	"inspect.Goroutine":      data,
	"inspect.GoroutineGroup": data,
	"inspect.Group":          data,
	"inspect.Held":           data,
	"inspect.Profile":        data,
	"inspect.Histogram":      data,
	"inspect.Loop":           data,
	"inspect.ReadyWait":      data,
	"inspect.Times":          data,
	"inspect.Options":        options,
	"inspect.Program":        data,
	"inspect.Resource":       data,
	"inspect.Scope":          data,
	"inspect.ScopeID":        data,
	"inspect.Server":         data,
	"inspect.Step":           data,
	"inspect.Task":           data,
	"inspect.TaskID":         data,
	"inspect.TreeOptions":    options,
	"inspect.Verdict":        data,
	"inspect.Warning":        data,
	"rondo.Case":             "a value that Select is given; what it stands for is behind a pointer",
	"rondo.PanicError":       "it does not change once it is made",
	"rondo.Reason":           data,
	"rondo.Result":           data,
	"rondo.Runner":           options,
	"rondo.SignalError":      data,
	"rondo.Stats":            data,
	"rondo.TaskInfo":         data,
	"rondo.Tracer":           options,
	"shard.Runner":           options,
	"shard.ServeConfig":      options,
	"sim.Config":             options,
	"sim.DiskFaults":         options,
	"sim.Faults":             options,
	"sim.Link":               "the way from a host to another, of which its World has the state",
	"sim.Longest":            options,
	"sim.Network":            options,
	"sim.Op":                 data,
	"socket.Dialer":          options,
	"socket.Limits":          options,
	"socket.ListenConfig":    options,
	"socket.Stats":           data,
}

const (
	data    = "it says what was, and nothing changes it"
	options = "options, which each call reads anew"
)
