package tidy

// The exported names of the root module are written down in api, a file for each
// package, so that a change to them is seen in review. The files say what linux
// has; another system may lack some of it.

import (
	"flag"
	"fmt"
	"go/constant"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the exported names of each package to the api folder")

const updateAPI = "If the change is meant, run `go test ./internal/tidy -run API -update` and name old and new in CHANGELOG.md."

// TestAPI compares the exported names of each package with its file in api.
func TestAPI(t *testing.T) {
	repository, err := readRepository()
	if err != nil {
		t.Fatal(err)
	}
	library := libraryOf(repository)
	wanted := make(map[string]bool)
	for _, dir := range repository.published() {
		p, err := library.Import(importPath(dir))
		if err != nil {
			t.Error(err)
			continue
		}
		name := strings.ReplaceAll(dir, "/", "-") + ".txt"
		if dir == "." {
			name = "rondo.txt"
		}
		wanted[name] = true
		compareAPI(t, filepath.Join("../../api", name), apiOf(p))
	}
	entries, err := os.ReadDir("../../api")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if wanted[e.Name()] {
			continue
		}
		if !*update {
			t.Errorf("api/%s belongs to no package. %s", e.Name(), updateAPI)
		} else if err := os.Remove(filepath.Join("../../api", e.Name())); err != nil {
			t.Error(err)
		}
	}
}

func compareAPI(t *testing.T, file string, lines []string) {
	t.Helper()
	for _, l := range lines {
		if strings.Contains(l, "invalid type") {
			t.Errorf("%s: a type that tidy cannot see: %s", filepath.Base(file), l)
		}
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("%v. %s", err, updateAPI)
		return
	}
	written := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	var differ []string
	for _, l := range written {
		if !slices.Contains(lines, l) {
			differ = append(differ, "-"+l)
		}
	}
	for _, l := range lines {
		if !slices.Contains(written, l) {
			differ = append(differ, "+"+l)
		}
	}
	switch {
	case len(differ) > 0:
		t.Errorf("api/%s is not what the package exports:\n%s\n%s", filepath.Base(file), strings.Join(differ, "\n"), updateAPI)
	case !slices.Equal(written, lines):
		t.Errorf("api/%s has its lines in another order, or some twice. %s", filepath.Base(file), updateAPI)
	}
}

// published lists the folders of the packages of the root module that users can
// import.
func (t *tree) published() (dirs []string) {
	for _, s := range t.source {
		if s.test || s.in(outside...) || strings.Contains("/"+s.dir+"/", "/internal/") || s.ast.Name.Name == "main" || slices.Contains(dirs, s.dir) {
			continue
		}
		dirs = append(dirs, s.dir)
	}
	return dirs
}

// apiOf returns a line for each exported name of p, and for each exported field
// and method of its types, sorted.
func apiOf(p *types.Package) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	w := apiWriter{p}
	for _, name := range p.Scope().Names() {
		if !p.Scope().Lookup(name).Exported() {
			continue
		}
		switch o := p.Scope().Lookup(name).(type) {
		case *types.Const:
			value := o.Val().ExactString()
			if o.Val().Kind() == constant.Float {
				value = o.Val().String()
			}
			add("const %s %s = %s", name, w.text(o.Type()), value)
		case *types.Var:
			add("var %s %s", name, w.text(o.Type()))
		case *types.Func:
			add("func %s%s%s", name, w.parameters(o.Signature().TypeParams()), w.signature(o.Signature()))
		case *types.TypeName:
			lines = append(lines, w.typeLines(o)...)
		}
	}
	slices.Sort(lines)
	return lines
}

// An apiWriter writes types as p's users see them, without the names of
// parameters, which may change.
type apiWriter struct{ p *types.Package }

// text returns t as source text.
func (w apiWriter) text(t types.Type) string {
	switch t := t.(type) {
	case *types.Signature:
		return "func" + w.signature(t)
	case *types.Pointer:
		return "*" + w.text(t.Elem())
	case *types.Slice:
		return "[]" + w.text(t.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), w.text(t.Elem()))
	case *types.Map:
		return "map[" + w.text(t.Key()) + "]" + w.text(t.Elem())
	case *types.Chan:
		return map[types.ChanDir]string{types.SendRecv: "chan ", types.SendOnly: "chan<- ", types.RecvOnly: "<-chan "}[t.Dir()] + w.text(t.Elem())
	}
	return types.TypeString(t, func(other *types.Package) string {
		if other == w.p {
			return ""
		}
		return other.Name()
	})
}

// signature returns the parameters and results of s.
func (w apiWriter) signature(s *types.Signature) string {
	list := func(tuple *types.Tuple, variadic bool) string {
		var texts []string
		for v := range tuple.Variables() {
			texts = append(texts, w.text(v.Type()))
		}
		if variadic {
			last := &texts[len(texts)-1]
			*last = "..." + strings.TrimPrefix(*last, "[]")
		}
		return strings.Join(texts, ", ")
	}
	text := "(" + list(s.Params(), s.Variadic()) + ")"
	switch s.Results().Len() {
	case 0:
		return text
	case 1:
		return text + " " + list(s.Results(), false)
	}
	return text + " (" + list(s.Results(), false) + ")"
}

// parameters returns a list of type parameters with their constraints.
func (w apiWriter) parameters(list *types.TypeParamList) string {
	var texts []string
	for p := range list.TypeParams() {
		texts = append(texts, p.Obj().Name()+" "+w.text(p.Constraint()))
	}
	if len(texts) == 0 {
		return ""
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// typeLines returns the lines of a type, its fields and its methods.
func (w apiWriter) typeLines(o *types.TypeName) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if alias, ok := o.Type().(*types.Alias); ok {
		add("type %s%s = %s", o.Name(), w.parameters(alias.TypeParams()), w.text(alias.Rhs()))
		return lines
	}
	named := o.Type().(*types.Named)
	head := "type " + o.Name() + w.parameters(named.TypeParams())
	switch t := named.Underlying().(type) {
	case *types.Struct:
		add("%s struct", head)
		for f := range t.Fields() {
			switch {
			case f.Exported() && f.Embedded():
				add("%s struct, embedded %s", head, w.text(f.Type()))
			case f.Exported():
				add("%s struct, %s %s", head, f.Name(), w.text(f.Type()))
			}
		}
	case *types.Interface:
		add("%s interface", head)
		for m := range t.Methods() {
			if !m.Exported() {
				add("%s interface, unexported methods", head)
				continue
			}
			add("%s interface, %s%s", head, m.Name(), w.signature(m.Signature()))
		}
		return lines
	default:
		add("%s %s", head, w.text(t))
	}
	receiver := o.Name()
	if list := named.TypeParams(); list.Len() > 0 {
		var names []string
		for p := range list.TypeParams() {
			names = append(names, p.Obj().Name())
		}
		receiver += "[" + strings.Join(names, ", ") + "]"
	}
	value := types.NewMethodSet(named)
	for m := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		f := m.Obj().(*types.Func)
		if !f.Exported() {
			continue
		}
		star := "*"
		if value.Lookup(f.Pkg(), f.Name()) != nil {
			star = ""
		}
		add("method (%s%s) %s%s", star, receiver, f.Name(), w.signature(m.Type().(*types.Signature)))
	}
	return lines
}

// TestAPIOf shows the lines of a small package, one kind of name after the other.
func TestAPIOf(t *testing.T) {
	tree := newTree(files{"a.go": `package rondo

import "context"

const C = 1
const D Kind = "x"
var V, v []func(n int) error
type Kind string
func (k *Kind) Set(to string) (old string, err error) { return }
func (k Kind) String() string { return "" }
type S[T any] struct { A, b int; F func(t T) ; inner; *Kind }
type inner struct{}
func (inner) Promoted() {}
type I interface { Do(ctx context.Context); do() }
type A = map[string]<-chan Kind
func F[T any, N interface{ ~int | ~string }](ctx context.Context, s *S[T], ns ...N) error { return nil }
func f() {}
`})
	p, err := libraryOf(tree).Import(importPath("."))
	if err != nil {
		t.Fatal(err)
	}
	want := `const C untyped int = 1
const D Kind = "x"
func F[T any, N interface{~int | ~string}](context.Context, *S[T], ...N) error
method (*Kind) Set(string) (string, error)
method (Kind) String() string
method (S[T]) Promoted()
method (S[T]) Set(string) (string, error)
method (S[T]) String() string
type A = map[string]<-chan Kind
type I interface
type I interface, Do(context.Context)
type I interface, unexported methods
type Kind string
type S[T any] struct
type S[T any] struct, A int
type S[T any] struct, F func(T)
type S[T any] struct, embedded *Kind
var V []func(int) error`
	if got := strings.Join(apiOf(p), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := tree.published(); !slices.Equal(got, []string{"."}) {
		t.Errorf("published: %v, want the root, %s", got, path.Base(module))
	}
}

// TestClosedErrors: each exported error whose name says that something was closed matches
// rondo.ErrClosed, since its package makes it by kernel.Closed. Package coro, which uses the
// standard library alone, is the exception.
func TestClosedErrors(t *testing.T) {
	repository, err := readRepository()
	if err != nil {
		t.Fatal(err)
	}
	made := regexp.MustCompile(`(?m)^\s*(?:var )?(Err\w*Closed) += (\S+)\(`)
	found := 0
	for _, dir := range repository.published() {
		paths, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			text, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range made.FindAllStringSubmatch(string(text), -1) {
				if found++; m[2] != "kernel.Closed" && dir != "coro" {
					t.Errorf("%s: %s is made by %s, want kernel.Closed, so that it matches rondo.ErrClosed", p, m[1], m[2])
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("%d errors were found, want those of five packages at least", found)
	}
}
