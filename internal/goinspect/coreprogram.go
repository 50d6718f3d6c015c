package goinspect

// The program's own file is read too, because a core need not contain all of it. It must
// be the one that ran. The core says where the file is, and may
// say anything: only a regular file is opened, and only that one.

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// checkProgram makes sure that the part of the program's file that the core lacks
// can be read from the file, and that the file is the one that ran: mostly the core
// has its first page, which contains the linker's mark of the build. If not, see
// checkModule.
func (c *core) checkProgram() error {
	needed := false
	for _, m := range c.mapped {
		s, ok := c.segmentAt(m.start)
		needed = needed || m.path == c.program && ok && s.size < s.End-s.Start
	}
	if c.exe == "" && !needed {
		return nil
	}
	f, err := c.executable()
	switch {
	case err != nil && c.exe != "":
		return err
	case err != nil:
		return fmt.Errorf("%s lacks the code of its program, and %w: name the program's file (--exe)", c.name, err)
	}
	for _, m := range c.mapped {
		if m.path != c.program || m.at != 0 {
			continue
		}
		var there, here [pageSize]byte
		if c.fromCore(m.start, there[:]) != nil {
			continue
		}
		if _, err := f.ReadAt(here[:], 0); err != nil || here != there {
			return c.rebuilt()
		}
		c.compared = true
	}
	return nil
}

// rebuilt is the error of a program's file that is not the one that ran.
func (c *core) rebuilt() error {
	if c.exe == "" {
		return fmt.Errorf("%s is no longer the program of %s: it was rebuilt; name the file that ran (--exe)", Printable(c.program), c.name)
	}
	return fmt.Errorf("%s is not the program of %s, which was %s", c.exe, c.name, Printable(c.program))
}

// checkModules makes sure that the file is the program that ran by what was found
// in it.
func (c *core) checkModules(found []*module) error {
	if len(found) == 0 && c.own != nil && !c.compared {
		return c.rebuilt()
	}
	for _, m := range found {
		if err := c.checkModule(m.at); err != nil {
			return err
		}
	}
	return nil
}

// checkModule makes sure that the moduledata at the given address is that of the
// program's file, also if the core lacks the file's first page: it has the sizes of
// the tables that are read from the file.
func (c *core) checkModule(at uint64) error {
	m, ok := c.mappedAt(at)
	if !ok || m.path != c.program || c.own == nil || c.compared {
		return nil
	}
	var there, here [moduleWords * 8]byte
	if c.fromCore(at, there[:]) != nil {
		return c.rebuilt() // A program's own is written to when it starts.
	}
	if _, err := c.own.ReadAt(here[:], int64(m.at+at-m.start)); err != nil {
		return c.rebuilt()
	}
	// Behind the address of each table stand its length and its room.
	for _, table := range []int{wordFuncnames, wordCUs, wordFiles, wordPCs, wordFunctions, wordFtab} {
		if i := 8 * (table + 1); !bytes.Equal(there[i:i+16], here[i:i+16]) {
			return c.rebuilt()
		}
	}
	return nil
}

// executable opens the program's own file. No other file is opened, whatever the
// core names.
func (c *core) executable() (*os.File, error) {
	if c.own == nil && c.missing == nil {
		name := c.exe
		if name == "" {
			name = c.program
		}
		c.own, c.missing = openRegular(name)
	}
	return c.own, c.missing
}

// openRegular opens a file that is one: reading a pipe or a device may never end.
func openRegular(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, printableError(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", Printable(name))
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// printableError makes sure that the name in an error, which may be another
// program's, can be printed.
func printableError(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return &fs.PathError{Op: e.Op, Path: Printable(e.Path), Err: e.Err}
	}
	return err
}
