package main

// The verb version.

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

func runVersion(c *console, args []string) error {
	o := options{verb: "version"}
	if err := o.parseAll(args); err != nil {
		return err
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = new(debug.BuildInfo)
	}
	return c.print(describe(build) + "\n")
}

// describe says in one line what was built, from what, and for what system.
func describe(build *debug.BuildInfo) string {
	version := build.Main.Version
	if version == "" {
		version = "(devel)"
	}
	var revision, modified string
	for _, s := range build.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = " " + s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = ", modified"
		}
	}
	return fmt.Sprintf("rondo %s%s%s (%s, %s/%s)", version, revision, modified, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
