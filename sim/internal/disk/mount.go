package disk

import (
	"io/fs"
	"os"
	slash "path"
	"strings"
	"syscall"
)

// A Mount is a disk that a program uses. Its methods are those of sim.FS.
type Mount struct{ access }

// Mount returns the disk for a program.
func (d *Disk) Mount(p Program) Mount { return Mount{access{d, p}} }

// OpenFile opens a file, as os.OpenFile does.
func (m Mount) OpenFile(name string, flag int, perm fs.FileMode) (*File, error) {
	name = slash.Clean(name)
	n := m.disk.files[name]
	if err := m.check("open", name, n == nil && flag&os.O_CREATE != 0); err != nil {
		return nil, err
	}
	switch {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
	case n != nil && flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EEXIST}
	case n == nil:
		n = &inode{mode: perm, changed: m.program.Date()}
		m.change(change{name: name, File: n})
	}
	f := &File{access: m.access, name: name, inode: n, flag: flag}
	if flag&os.O_TRUNC != 0 && len(n.data) > 0 {
		if err := f.check("truncate", name, true); err != nil {
			return nil, err
		}
		f.cut(0) // also of a file that is open for reading alone, as on Linux
	}
	return f, nil
}

// Rename gives a file another name.
func (m Mount) Rename(old, new string) error {
	old, new = slash.Clean(old), slash.Clean(new)
	if err := m.check("rename", old, true); err != nil {
		return err
	}
	n := m.disk.files[old]
	if n == nil {
		return &os.LinkError{Op: "rename", Old: old, New: new, Err: syscall.ENOENT}
	}
	if old == new {
		return nil
	}
	if slash.Dir(old) == slash.Dir(new) {
		m.change(change{name: new, File: n, from: old})
	} else {
		m.change(change{name: new, File: n})
		m.change(change{name: old})
	}
	return nil
}

// Remove removes a file.
func (m Mount) Remove(name string) error {
	name = slash.Clean(name)
	if err := m.check("remove", name, false); err != nil {
		return err
	}
	if m.disk.files[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.ENOENT}
	}
	m.change(change{name: name})
	return nil
}

// ReadDir lists the files of a folder, and the folders in it. A folder is there while it
// has a file.
func (m Mount) ReadDir(name string) ([]fs.DirEntry, error) {
	name = slash.Clean(name)
	if err := m.check("readdir", name, false); err != nil {
		return nil, err
	}
	within := map[string]*inode{}
	for _, full := range sortedNames(m.disk.files) {
		one, ok := below(name, full)
		if !ok {
			continue
		}
		file := m.disk.files[full]
		folder, _, deeper := strings.Cut(one, "/")
		if deeper {
			one, file = folder, &inode{mode: fs.ModeDir | 0o755}
		}
		within[one] = file
	}
	var found []fs.DirEntry
	for _, one := range sortedNames(within) {
		found = append(found, fs.FileInfoToDirEntry(within[one].info(one)))
	}
	return found, nil
}

// below returns the name that a file has within a folder.
func below(folder, file string) (name string, ok bool) {
	switch folder {
	case ".":
		return file, !strings.HasPrefix(file, "/")
	case "/":
		return strings.CutPrefix(file, "/")
	}
	return strings.CutPrefix(file, folder+"/")
}

// SyncDir makes certain which files a folder has.
func (m Mount) SyncDir(name string) error {
	name = slash.Clean(name)
	if err := m.check("sync", name, true); err != nil {
		return err
	}
	d := m.disk
	if d.Faults.LyingSync {
		m.program.Damaged("a SyncDir that lies", len(d.log))
		return nil
	}
	rest := d.log[:0]
	for _, c := range d.log {
		if slash.Dir(c.name) == name {
			c.apply(d.synced)
		} else {
			rest = append(rest, c)
		}
	}
	d.log = rest
	return nil
}
