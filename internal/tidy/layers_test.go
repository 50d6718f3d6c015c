package tidy

import (
	"path"
	"strings"
)

// rows says who may import whom: a package imports only packages of the rows above
// its own, which are lower layers, and none of its own row.
//
// It says what is wanted. Do not change it only to make a build pass.
var rows = [][]string{
	{"internal/driver", "internal/gid", "internal/prefetch", "internal/leak", "internal/tried", "internal/layout", "internal/flight", "internal/trap", "internal/list", "internal/nocopy", "internal/ring", "internal/heap", "internal/timers", "internal/loopset", "internal/result", "internal/pace", "internal/report", "internal/stdctx", "internal/errtree", "internal/spread", "internal/peer"},
	{"coro", "internal/poll", "internal/kernel", "internal/inbox", "internal/timeline", "internal/stacks"},
	{"internal/watchdog", "internal/waits"},
	{"."},
	{"internal/fd", "internal/goinspect", "internal/conformance", "internal/kerneltest", "sim/internal/choice", "sim/internal/moment"},
	{"sim/internal/order", "sim/internal/disk", "sim/internal/record", "sim/internal/replay", "sim/internal/chance"},
	{"sim/internal/picture", "sim/internal/network", "sim/internal/offload"},
	{"sim/internal/fault", "sim/internal/search"},
	{"socket", "process", "signals", "broadcast", "slogtask", "sim", "inspect"},
	{"httptask", "guest"},
	{"shard"},
	{"internal/soak", "internal/mistakes", "internal/growth", "internal/containment"},
	{"nats/..."},
	{"cmd/...", "examples/...", "interop/...", "bench/..."},
}

// exempt are packages without a row.
var exempt = []string{"internal/tidy"}

// public are the modules whose programs use only what every user can import. A program
// may join versions of nats and of the root module that were never built together, so
// package nats may rely on nothing but what the root module promises.
var public = []string{"cmd", "examples", "nats"}

// systemCallers may import golang.org/x/sys.
var systemCallers = []string{
	"internal/poll", "internal/fd", "internal/goinspect", "socket", "process", "signals", "inspect", "internal/soak",
	"internal/growth", // the clock of the processor
}

const sys = "golang.org/x/sys"

// rowOf returns the row of a folder, and its entry there.
func rowOf(dir string) (row int, entry string) {
	for i, row := range rows {
		for _, e := range row {
			folder, below := strings.CutSuffix(e, "/...")
			if dir == folder || below && strings.HasPrefix(dir, folder+"/") {
				return i, e
			}
		}
	}
	return -1, ""
}

var layersRule = rule{
	name: "layers",
	law: "Imports point down, never up or sideways; the rows are in layers_test.go. coro imports the standard " +
		"library and internal/gid alone. The root module imports that, itself and golang.org/x/sys. A test may also import sim, and a test outside " +
		"its package may import that package.",
	check: func(t *tree) (found []breach) {
		for _, s := range t.source {
			if s.in(exempt...) || s.in(".ci/tools") {
				continue
			}
			if row, _ := rowOf(s.dir); row < 0 {
				found = append(found, breach{file: s.path, what: "package without a row", hint: "give it a row in layers_test.go"})
				continue
			}
			for _, i := range s.ast.Imports {
				p := strings.Trim(i.Path.Value, "`\"")
				if hint := forbidden(s, p); hint != "" {
					found = append(found, breach{file: s.path, line: t.line(i.Pos()), what: "import of " + p, hint: hint})
				}
			}
		}
		return found
	},
	bad: []sample{
		{files{"util2/a.go": "package util2\n"}, "give it a row"},
		{files{"coro/a.go": "package coro\nimport _ \"github.com/rondo-go/rondo/internal/leak\"\n"}, "internal/gid alone"},
		{files{"coro/a_test.go": "package coro_test\nimport _ \"golang.org/x/sys/unix\"\n"}, "internal/gid alone"},
		{files{"a.go": "package rondo\nimport _ \"github.com/rondo-go/rondo/socket\"\n"}, "not below"},
		{files{"a_windows.go": "package rondo\nimport _ \"github.com/rondo-go/rondo/socket\"\n"}, "not below"},
		{files{"socket/a.go": "package socket\nimport _ \"github.com/rondo-go/rondo/process\"\n"}, "not below"},
		{files{"socket/a.go": "package socket\nimport _ \"github.com/rondo-go/rondo/sim\"\n"}, "not below"},
		{files{"socket/a_test.go": "package socket\nimport _ \"github.com/rondo-go/rondo/process\"\n"}, "not below"},
		{files{"socket/a.go": "package socket\nimport _ \"github.com/rondo-go/rondo/nowhere\"\n"}, "without a row"},
		{files{"internal/fd/a.go": "package fd\nimport _ \"github.com/rondo-go/rondo\"\n"}, "through internal/kernel"},
		{files{"a_test.go": "package rondo_test\nimport _ \"github.com/rondo-go/rondo/socket\"\n"}, "not below"},
		{files{"a_test.go": "package rondo_test\nimport _ \"pgregory.net/rapid\"\n"}, "root module"},
		{files{"internal/poll/a.go": "package poll\nimport \"C\"\n"}, "root module"},
		{files{"interop/a.go": "package interop\nimport _ \"github.com/rondo-go/rondo/bench\"\n"}, "not below"},
		{files{"examples/echo/main.go": "package main\nimport _ \"github.com/rondo-go/rondo/internal/kernel\"\n"}, "no user has"},
	},
	good: files{
		"internal/kernel/a.go":  "package kernel\nimport _ \"github.com/rondo-go/rondo/internal/driver\"\n",
		"a_test.go":             "package rondo_test\nimport (\n_ \"github.com/rondo-go/rondo\"\n_ \"github.com/rondo-go/rondo/sim\"\n)\n",
		"socket/a.go":           "package socket\nimport (\n_ \"net\"\n_ \"golang.org/x/sys/unix\"\n_ \"github.com/rondo-go/rondo/internal/fd\"\n)\n",
		"interop/a.go":          "package interop\nimport (\n_ \"example.com/any\"\n_ \"github.com/rondo-go/rondo/interop/x\"\n)\n",
		"examples/echo/main.go": "package main\nimport _ \"github.com/rondo-go/rondo/socket\"\n",
		"nats/a_test.go":        "package nats\nimport _ \"github.com/rondo-go/rondo/internal/leak\"\n",
		"coro/testdata/a.go":    "package x\nimport _ \"github.com/rondo-go/rondo\"\n",
	},
}

// forbidden returns why s may not import p, or "".
func forbidden(s *source, p string) string {
	below, ours := dirOf(p)
	switch {
	case standard(p):
		return ""
	case s.dir == "coro" && below != "internal/gid" && !(s.external() && ours && (below == "coro" || below == "sim")):
		return "coro imports the standard library and internal/gid alone"
	case !ours:
		if s.in(outside...) || p == sys || strings.HasPrefix(p, sys+"/") {
			return ""
		}
		return "the root module imports the standard library, itself and " + sys
	case s.external() && below == s.dir || s.test && below == "sim":
		return ""
	case s.in("nats") && s.test && below == "internal/leak":
		return "" // its tests count what they leave behind, as all do; nobody copies them
	case s.dir == "examples/internal/trial" && below == "internal/tried":
		return "" // it is for tests of examples that plant mistakes; nobody copies it
	case s.in(public...) && (below == "internal" || strings.HasPrefix(below, "internal/")):
		return "that is something no user has"
	}
	if s.dir == "internal/fd" && below == "." && !s.test {
		return "internal/fd uses the loop through internal/kernel only"
	}
	from, entry := rowOf(s.dir)
	to, other := rowOf(below)
	switch {
	case to < 0:
		return "that is a package without a row"
	case to < from || entry == other && strings.HasSuffix(entry, "/..."):
		return ""
	}
	return "that is not below " + path.Join("rondo", s.dir)
}

// dirOf returns the folder of a package of ours.
func dirOf(p string) (dir string, ours bool) {
	if p == module {
		return ".", true
	}
	return strings.CutPrefix(p, module+"/")
}

var sysRule = rule{
	name: "sys",
	law:  "Only packages that deal with the system import golang.org/x/sys.",
	check: func(t *tree) (found []breach) {
		for _, s := range t.source {
			if s.in(outside...) || s.in(systemCallers...) {
				continue
			}
			for _, i := range s.ast.Imports {
				if p := strings.Trim(i.Path.Value, "`\""); strings.HasPrefix(p, sys+"/") {
					found = append(found, breach{file: s.path, line: t.line(i.Pos()), what: "import of " + p,
						hint: "the packages that may are in layers_test.go"})
				}
			}
		}
		return found
	},
	bad: []sample{
		{files{"loop_linux.go": "package rondo\nimport \"golang.org/x/sys/unix\"\n"}, "import of golang.org/x/sys/unix"},
		{files{"sim/a_test.go": "package sim_test\nimport \"golang.org/x/sys/unix\"\n"}, "import of golang.org/x/sys/unix"},
	},
	good: files{
		"socket/a.go": "package socket\nimport \"golang.org/x/sys/unix\"\n",
		"bench/a.go":  "package bench\nimport \"golang.org/x/sys/unix\"\n",
	},
}
