package main

// A replica stores the value with the highest tag that it was sent, and forgets it in no
// power failure.

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"strings"

	"github.com/rondo-go/rondo/sim"
)

// A tag orders writes: by number, then by the name of the writer.
type tag struct {
	number int64
	writer string
}

func (t tag) compare(o tag) int {
	return cmp.Or(cmp.Compare(t.number, o.number), cmp.Compare(t.writer, o.writer))
}

// A record is a value with its tag. Its text is "number writer value".
type record struct {
	tag
	value string
}

func (r record) String() string { return fmt.Sprintf("%d %s %s", r.number, r.writer, r.value) }

// parse reads the text of a record.
func parse(text string) (r record, err error) {
	fields := strings.SplitN(text, " ", 3)
	if len(fields) != 3 {
		return r, fmt.Errorf("%q is no record", text)
	}
	_, err = fmt.Sscan(fields[0], &r.number)
	r.writer, r.value = fields[1], fields[2]
	return r, err
}

// A replica is shared by the tasks of all connections without a lock: none of its
// methods waits.
type replica struct {
	disk   sim.FS
	folder string
	now    record
}

// openReplica loads what the replica stored in its last life.
func openReplica(ctx context.Context, folder string) (*replica, error) {
	r := &replica{disk: sim.Disk(ctx), folder: folder, now: record{tag: tag{writer: "-"}}}
	text, err := loadFile(r.disk, path.Join(folder, "value"))
	if err != nil || text == "" {
		return r, err
	}
	if r.now, err = parse(text); err != nil {
		return nil, err
	}
	// A replica that ended because a sync had failed reads what may be lost all the same.
	return r, storeFile(r.disk, folder, "value", text)
}

// handle answers the requests of one connection: "get" with the record, and "put" and a
// record with "ok".
func (r *replica) handle(ctx context.Context, c net.Conn) error {
	in := bufio.NewScanner(c)
	for in.Scan() {
		answer := r.now.String()
		if text, put := strings.CutPrefix(in.Text(), "put "); put {
			one, err := parse(text)
			if err == nil {
				err = r.put(ctx, one)
			}
			if err != nil {
				return err
			}
			answer = "ok"
		}
		if _, err := fmt.Fprintln(c, answer); err != nil {
			return err
		}
	}
	return in.Err()
}

// put stores a record, if none with a higher tag is there.
func (r *replica) put(ctx context.Context, one record) error {
	if one.compare(r.now.tag) <= 0 {
		return nil
	}
	// The disk has it before anyone is told so.
	if err := storeFile(r.disk, r.folder, "value", one.String()); err != nil {
		return err
	}
	r.now = one
	sim.Show(ctx, "stored", one) // for the picture of a failed test
	return nil
}

// quiet drops errors of connections: the client asks again.
func quiet(net.Conn, error) {}

// loadFile returns the text of a file, "" if there is none.
func loadFile(disk sim.FS, name string) (string, error) {
	f, err := disk.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	return string(text), err
}

// storeFile replaces the text of a file. Whatever happens, the file has the old text or
// the new one, and the new one once storeFile has returned.
func storeFile(disk sim.FS, folder, name, text string) error {
	name = path.Join(folder, name)
	temporary := name + ".new"
	f, err := disk.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	if err == nil && !mistakes.noSync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := disk.Rename(temporary, name); err != nil || mistakes.noSync {
		return err
	}
	return disk.SyncDir(folder)
}
