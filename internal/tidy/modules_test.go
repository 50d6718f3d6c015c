package tidy

import (
	"slices"
	"strings"
)

var modulesRule = rule{
	name: "modules",
	law: "The root module requires golang.org/x/sys and nothing else. Every module but .ci/tools is in go.work, and requires Rondo at " +
		"the version that CHANGELOG.md has on top, which go.work replaces by the checkout. None replaces another, so that the command " +
		"can be installed from outside.",
	check: func(t *tree) (found []breach) {
		if !t.exists["LICENSE"] {
			found = append(found, breach{file: "LICENSE", what: "no licence"})
		}
		used := directives(t.text["go.work"], "use")
		version := released(t.text["CHANGELOG.md"])
		if want := module + " " + version + " => ./"; !slices.Contains(directives(t.text["go.work"], "replace"), want) {
			found = append(found, breach{file: "go.work", what: "no replace " + want})
		}
		for _, dir := range append([]string{"."}, outside...) {
			file := strings.TrimPrefix(dir+"/go.mod", "./")
			text, ok := t.text[file]
			if !ok {
				found = append(found, breach{file: file, what: "no module"})
				continue
			}
			required := directives(text, "require")
			for _, r := range required {
				if p, _, _ := strings.Cut(r, " "); dir == "." && p != sys {
					found = append(found, breach{file: file, what: "require " + p})
				}
			}
			if want := module + " " + version; dir != "." && dir != ".ci/tools" && !slices.Contains(required, want) {
				found = append(found, breach{file: file, what: "no require " + want, hint: "CHANGELOG.md has that version on top"})
			}
			for _, r := range directives(text, "replace") {
				found = append(found, breach{file: file, what: "replace " + r})
			}
			place := dir
			if dir != "." {
				place = "./" + dir
			}
			if in := slices.Contains(used, place); in == (dir == ".ci/tools") {
				found = append(found, breach{file: "go.work", what: "use of " + dir, hint: "every module but .ci/tools is in the workspace"})
			}
		}
		return found
	},
	bad: []sample{
		{modulesSample("LICENSE", ""), "no licence"},
		{modulesSample("go.mod", "module m\nrequire (\n\tgolang.org/x/sys v0.1.0\n\texample.com/a v1.0.0 // indirect\n)\n"), "require example.com/a"},
		{modulesSample("go.mod", "module m\nrequire example.com/a v1.0.0\n"), "require example.com/a"},
		{modulesSample("go.mod", "module m\nrequire golang.org/x/system v1.0.0\n"), "require golang.org/x/system"},
		{modulesSample("cmd/go.mod", "module m\nrequire github.com/rondo-go/rondo v0.1.0\nreplace github.com/rondo-go/rondo => ../\n"), "replace github.com/rondo-go/rondo"},
		{modulesSample("cmd/go.mod", "module m\nrequire github.com/rondo-go/rondo v0.0.9\n"), "cmd/go.mod: no require github.com/rondo-go/rondo v0.1.0"},
		{modulesSample("cmd/go.mod", "module m\n"), "cmd/go.mod: no require github.com/rondo-go/rondo v0.1.0"},
		{modulesSample("go.work", strings.TrimSuffix(workSample, workReplace)), "go.work: no replace"},
		{modulesSample("bench/go.mod", ""), "bench/go.mod: no module"},
		{modulesSample("go.work", strings.Replace(workSample, "\t./interop\n", "", 1)), "use of interop"},
		{modulesSample("go.work", strings.Replace(workSample, "\t./interop\n", "\t./interop\n\t./.ci/tools // for staticcheck\n", 1)), "use of .ci/tools"},
	},
	good: modulesSample("cmd/go.mod", "module m\n\nrequire github.com/rondo-go/rondo v0.1.0\n\n// replace nothing => nothing\n"),
}

// workSample is a workspace with each module that is to be there.
const workSample = "go 1.26.0\n\nuse (\n\t.\n\t./bench\n\t./cmd\n\t./examples\n\t./interop\n\t./nats\n\t./nats/embed\n\t./nats/examples\n\t./nats/oteltask\n)\n" + workReplace

// modulesSample is a tree that keeps the rule, but for one file: it has the
// given text, or is not there if that is empty.
func modulesSample(file, text string) files {
	f := files{
		"CHANGELOG.md": "# Changelog\n\n## [0.1.0] - not released yet\n\n## [0.0.9] - 2026-01-01\n",

		"LICENSE": "All yours.\n",
		"go.mod":  "module m\n\nrequire golang.org/x/sys v0.1.0\n",
		"go.work": workSample,
	}
	for _, dir := range outside {
		f[dir+"/go.mod"] = "module m\n\nrequire (\n\texample.com/a v1.0.0\n\tgithub.com/rondo-go/rondo v0.1.0\n)\n"
	}
	f[file] = text
	if text == "" {
		delete(f, file)
	}
	return f
}

const workReplace = "\nreplace github.com/rondo-go/rondo v0.1.0 => ./\n"

// released returns the version on top of a changelog.
func released(changelog string) string {
	for l := range strings.Lines(changelog) {
		if rest, ok := strings.CutPrefix(l, "## ["); ok {
			version, _, _ := strings.Cut(rest, "]")
			return "v" + version
		}
	}
	return ""
}

// directives returns the arguments of each directive of the kind in the text of a
// go.mod or go.work.
func directives(text, kind string) (list []string) {
	block := false
	for l := range strings.Lines(text) {
		l, _, _ = strings.Cut(l, "//")
		l = strings.TrimSpace(l)
		rest, starts := strings.CutPrefix(l, kind+" ")
		switch {
		case block && l == ")":
			block = false
		case block && l != "":
			list = append(list, l)
		case starts && rest == "(":
			block = true
		case starts:
			list = append(list, rest)
		}
	}
	return list
}
