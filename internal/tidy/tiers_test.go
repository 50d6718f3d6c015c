package tidy

import (
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strings"
)

// kernelFiles are the files of the root package that may use each other's
// unexported names. The others are library files.
var kernelFiles = []string{
	"loop", "prefetch", "baton", "worker", "park", "task", "scope", "unwind", "contextwatch", // the heart
	"schedule", "timer", "border", "context", "errors", "info", "tangle", "witness", "observer", "layout", "flight", "simulated",
	"run", "deadlock", "group", "sleep", "join", "select", "future", "offload", "pull", "map", "tracer", "hooks",
}

// structures are the packages below internal that a library file may import: they
// know nothing of the loop.
var structures = []string{"errtree", "heap", "list", "nocopy", "ring"}

// kernel reports whether s is a kernel file.
func (s *source) kernel() bool {
	return s.dir == "." && slices.Contains(kernelFiles, strings.TrimSuffix(s.name, ".go"))
}

var tiersRule = rule{
	name: "tiers",
	law: "A library file of the root package uses what a user could use: nothing unexported of another file, no " +
		"methods added to another file's types, no struct literals without field names of them, nothing internal but data structures, which know nothing of the loop. The kernel files are in tiers_test.go.",
	check: func(t *tree) (found []breach) {
		for _, p := range t.typed(".") {
			if p.err != nil {
				return []breach{{file: "go.mod", what: "the root package does not type-check", hint: p.err.Error()}}
			}
			for _, s := range p.files {
				if !s.kernel() {
					found = append(found, t.reaches(s, p.info)...)
				}
			}
		}
		return found
	},
	bad: []sample{
		{files{"task.go": kernelSample, "gather.go": "package rondo\nfunc f(t *Task) { t.wake() }\n"}, "use of wake"},
		{files{"task.go": kernelSample, "gather.go": "package rondo\nfunc f(t *Task) { t.n++ }\n"}, "use of n"},
		{files{"task.go": kernelSample, "gather.go": "package rondo\nfunc f(t *Task) any { return t.g }\n"}, "use of g"},
		{files{"task.go": kernelSample, "gather.go": "package rondo\nfunc f(x *Box[int]) int { return x.v }\n"}, "use of v"},
		{files{"task.go": kernelSample, "gather.go": "package rondo\nfunc f(x *Box[int]) { x.put(1) }\n"}, "use of put"},
		{files{"task.go": kernelSample, "gather.go": "package rondo\nfunc f() { start() }\n"}, "use of start"},
		{files{"task.go": kernelSample, "gather.go": "package rondo\nvar f entry\n"}, "use of entry"},
		{files{"task.go": kernelSample, "gather.go": "package rondo\nconst f = limit\n"}, "use of limit"},
		{files{"task.go": kernelSample, "gather.go": "package rondo\nvar f = Task{n: 1}\n"}, "use of n"},
		{files{"task.go": kernelSample, "gather.go": "package rondo\nvar f = Small{1}\n"}, "literal of Small"},
		{files{"task.go": kernelSample, "gather.go": "package rondo\ntype in struct{ Task }\nfunc (i *in) f() { i.wake() }\n"}, "use of wake"},
		{files{"task.go": kernelSample, "gather.go": "package rondo\nfunc (t *Task) Gather() {}\n"}, "method of Task"},
		{files{"task.go": kernelSample, "gather.go": "package rondo\nfunc (b *Box[T]) Gather() {}\n"}, "method of Box"},
		{files{"queue.go": "package rondo\nfunc own() {}\n", "gather.go": "package rondo\nfunc f() { own() }\n"}, "use of own"},
		{files{"gather.go": "package rondo\nimport _ \"github.com/rondo-go/rondo/internal/gid\"\n", "internal/gid/a.go": "package gid\n"}, "internal/gid"},
		{files{"gather.go": "package rondo\nvar f = nothing\n"}, "does not type-check"},
	},
	good: files{
		"task.go": kernelSample,
		"loop.go": "package rondo\nfunc Loop(t *Task) { t.wake(); start() }\n",
		"gather.go": "package rondo\nimport \"time\"\ntype group struct{ n int }\nfunc (g group) add(b *Box[time.Time], t *Task) Small {\n" +
			"g.n++\nt.Wake()\nstep := b.V\n_ = step\nreturn Small{N: 1}\n}\n",
		"gather_test.go": "package rondo\nfunc g(t *Task) { t.wake() }\n",
	},
}

const kernelSample = `package rondo

type Task struct {
	n int
	g struct{ n int }
}

func (t *Task) wake() {}
func (t *Task) Wake() {}

type Small struct{ N int }

type Box[T any] struct {
	V T
	v T
}

func (b *Box[T]) put(v T) { b.v = v }

type entry int

const limit = 1

func start() {}
`

// reaches finds what s uses of other files although it must not.
func (t *tree) reaches(s *source, info *types.Info) (found []breach) {
	elsewhere := func(o types.Object) bool {
		return o != nil && o.Pkg() != nil && o.Pkg().Path() == module && t.fset.Position(o.Pos()).Filename != s.path
	}
	add := func(n ast.Node, in, what, hint string) {
		found = append(found, breach{file: s.path, line: t.line(n.Pos()), in: in, what: what, hint: hint})
	}
	for _, i := range s.ast.Imports {
		if strings.Contains(i.Path.Value, module+"/internal/") && !slices.Contains(structures, path.Base(strings.Trim(i.Path.Value, `"`))) {
			add(i, "", "import of "+strings.Trim(i.Path.Value, `"`), "a library file uses what a user could use")
		}
	}
	s.functions(func(in string, d ast.Decl) {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			if o := receiver(f, info); elsewhere(o) {
				add(f, "", "method of "+o.Name(), "only the file that declares a type adds methods to it")
			}
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if o := info.Uses[n]; elsewhere(o) && !o.Exported() {
					add(n, in, "use of "+o.Name(), "a library file uses what a user could use")
				}
			case *ast.CompositeLit:
				if o := literal(n, info); elsewhere(o) {
					add(n, in, "literal of "+o.Name(), "name its fields")
				}
			}
			return true
		})
	})
	return found
}

// receiver returns the type that f is a method of.
func receiver(f *ast.FuncDecl, info *types.Info) types.Object {
	r := info.Defs[f.Name].(*types.Func).Signature().Recv().Type()
	if p, ok := r.(*types.Pointer); ok {
		r = p.Elem()
	}
	if named, ok := r.(*types.Named); ok {
		return named.Obj()
	}
	return nil
}

// literal returns the type of a struct literal that has values without names.
func literal(l *ast.CompositeLit, info *types.Info) types.Object {
	if len(l.Elts) == 0 {
		return nil
	}
	if _, keyed := l.Elts[0].(*ast.KeyValueExpr); keyed {
		return nil
	}
	named, ok := types.Unalias(info.TypeOf(l)).(*types.Named)
	if !ok {
		return nil
	}
	if _, ok := named.Underlying().(*types.Struct); !ok {
		return nil
	}
	return named.Obj()
}
