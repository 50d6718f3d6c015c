package main

// The rivals outside Go are built from their sources in the folder rivals.
// What has been built is kept in the user's cache folder, under a hash of its
// source, so each is built once. A rival whose tools are not here is missing, and
// the table says so.

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

//go:embed rivals/epoll rivals/uring rivals/python/echo.py rivals/tokio/Cargo.toml rivals/tokio/Cargo.lock rivals/tokio/src
//go:embed rivals/monoio/Cargo.toml rivals/monoio/Cargo.lock rivals/monoio/src
//go:embed rivals/simulators/Cargo.toml rivals/simulators/Cargo.lock rivals/simulators/src
var rivalSources embed.FS

// builtFrom returns the folder with what make built from a folder of rivals, now or
// before. make runs in a copy of that folder.
func builtFrom(folder string, make func(dir string) error) (dir string, err error) {
	dir, done, err := cached(folder)
	if err != nil || done {
		return dir, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(dir), "build")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	if err := errors.Join(unpack(folder, scratch), make(scratch)); err != nil {
		return "", err
	}
	// If another process has built the same by now, its folder stays.
	if err := os.Rename(scratch, dir); err != nil {
		if _, done, _ := cached(folder); !done {
			return "", err
		}
	}
	return dir, nil
}

// cached returns the folder for what is built from a folder of rivals, and whether
// it is there.
func cached(folder string) (dir string, done bool, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", false, err
	}
	hash := sha256.New()
	err = fs.WalkDir(rivalSources, "rivals/"+folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := rivalSources.ReadFile(path)
		fmt.Fprintf(hash, "%s %d\n%s", path, len(text), text)
		return err
	})
	if err != nil {
		return "", false, err
	}
	dir = filepath.Join(cache, "rondo-bench", fmt.Sprintf("%s-%x", folder, hash.Sum(nil)[:6]))
	_, err = os.Stat(dir)
	return dir, err == nil, nil
}

// unpack writes the sources of a rival to dir.
func unpack(folder, dir string) error {
	sources, err := fs.Sub(rivalSources, "rivals/"+folder)
	if err != nil {
		return err
	}
	return fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		to := filepath.Join(dir, filepath.FromSlash(path))
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(to, 0o777))
		}
		text, err := fs.ReadFile(sources, path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o666)
	})
}

// run runs a command in dir.
func run(dir string, command string, args ...string) error {
	cmd := exec.Command(command, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(command), err, bytes.TrimSpace(out))
	}
	return nil
}

// builtC returns the program of a folder with one file, echo.c.
func builtC(folder string) (program string, err error) {
	dir, err := builtFrom(folder, func(dir string) error {
		for _, name := range []string{"gcc", "cc"} {
			compiler, err := exec.LookPath(name)
			if err != nil {
				continue
			}
			if err := run(dir, compiler, "-O2", "-o", "echo", "echo.c"); err != nil {
				return missing("C, %s is missing: %v.", folder, err)
			}
			return nil
		}
		return missing("The servers in C are missing: this machine has no gcc and no cc.")
	})
	return filepath.Join(dir, "echo"), err
}

// A crate is a folder of rivals that cargo builds.
type crate struct{ folder, rivals string }

var (
	tokioCrate     = crate{"tokio", "tokio and hyper"}
	monoioCrate    = crate{"monoio", "monoio"}
	simulatorCrate = crate{"simulators", "turmoil and shuttle"}
)

// builtRust returns a program of a crate.
func builtRust(o options, c crate, name string) (program string, err error) {
	dir, err := builtFrom(c.folder, func(dir string) error {
		if o.ready {
			return missing("%s are missing: go run ./bench builds them, tests do not.", c.rivals)
		}
		cargo, err := exec.LookPath("cargo")
		if err != nil {
			return missing("%s are missing: this machine has no cargo.", c.rivals)
		}
		if o.progress != nil {
			fmt.Fprintf(o.progress, "(cargo builds %s, once) ", c.rivals)
		}
		if err := run(dir, cargo, "build", "--release", "--locked", "--target-dir", "target"); err != nil {
			return missing("%s are missing: %v.", c.rivals, err)
		}
		return nil
	})
	return filepath.Join(dir, "target", "release", name), err
}

// uvloopPin is what the rival needs that is not in Python's standard library.
const uvloopPin = "uvloop==0.22.1"

// python3 is the interpreter. Its two questions are asked once.
var (
	python3 = sync.OnceValues(func() (string, error) {
		interpreter, err := exec.LookPath("python3")
		if err != nil {
			return "", missing("asyncio and uvloop are missing: this machine has no python3.")
		}
		if exec.Command(interpreter, "-c", "import asyncio; asyncio.Runner").Run() != nil {
			return "", missing("asyncio and uvloop are missing: they need Python 3.11 or later.")
		}
		return interpreter, nil
	})
	hasUvloop = sync.OnceValue(func() error {
		interpreter, err := python3()
		if err != nil {
			return err
		}
		if exec.Command(interpreter, "-c", "import uvloop; uvloop.run").Run() != nil {
			return missing("uvloop is missing: python3 -m pip install %s.", uvloopPin)
		}
		return nil
	})
)

// pythonFor returns the interpreter and the program for an event loop of Python.
func pythonFor(loop string) (interpreter, program string, err error) {
	if loop == "uvloop" {
		if err := hasUvloop(); err != nil {
			return "", "", err
		}
	}
	if interpreter, err = python3(); err != nil {
		return "", "", err
	}
	dir, err := builtFrom("python", func(string) error { return nil })
	return interpreter, filepath.Join(dir, "echo.py"), err
}
