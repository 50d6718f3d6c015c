package main

// The journal is what a server must not forget: its term, its vote and its log.
//
// The law: what is in the fields is on the disk, whatever happens to the machine. So the
// file is written and synced first. If that fails nobody knows what the disk has, and the
// journal cannot be used any more: the server has to end and read it again.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/rondo-go/rondo/sim"
)

// An entry of the log is a command, and the term of the leader that got it.
type entry struct {
	Term    int
	Command command
}

// A journal has no method that waits: on a real machine a Sync blocks the loop for some
// milliseconds, so a busier server would write in an Offload.
type journal struct {
	term int     // the latest that the server has seen
	vote int     // for whom it voted in that term; 0: for nobody
	log  []entry // log[0] stands before the first entry

	file sim.File
	err  error // the first failure
}

// A record is a line of the file: a term with its vote, or an entry with its place in
// the log. The entries behind that place are no longer valid.
type record struct {
	Term, Vote int
	Index      int    `json:",omitempty"`
	Entry      *entry `json:",omitempty"`
}

// openJournal reads the file with the given name, if it is there.
func openJournal(ctx context.Context, folder, name string) (*journal, error) {
	j := &journal{log: make([]entry, 1)}
	disk, name := sim.Disk(ctx), path.Join(folder, name)
	if err := j.load(disk, name); err != nil {
		return nil, err
	}
	// A file with the same content takes the place of the old one. So its end is not torn,
	// and what the program reads now is not lost later because an earlier Sync had failed.
	temporary := name + ".new"
	f, err := disk.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	j.file = f
	err = j.write(true, j.all()...)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if err := disk.Rename(temporary, name); err != nil {
		return nil, err
	}
	if err := disk.SyncDir(folder); err != nil {
		return nil, err
	}
	j.file, err = disk.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	return j, err
}

// load reads the records of a file up to the first that is not whole.
func (j *journal) load(disk sim.FS, name string) error {
	f, err := disk.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for in := bufio.NewReader(f); ; {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var r record
		if !decode(line, &r) {
			return nil
		}
		j.take(r)
	}
}

// take makes a record that is on the disk a part of the fields.
func (j *journal) take(r record) {
	j.term, j.vote = r.Term, r.Vote
	switch {
	case r.Entry == nil:
	case mistakes.keepTail && r.Index < len(j.log):
		j.log[r.Index] = *r.Entry
	default:
		j.log = append(j.log[:r.Index], *r.Entry)
	}
}

// all returns records for all that the journal has.
func (j *journal) all() []record {
	all := []record{{Term: j.term, Vote: j.vote}}
	for i := 1; i < len(j.log); i++ {
		all = append(all, record{Term: j.term, Vote: j.vote, Index: i, Entry: &j.log[i]})
	}
	return all
}

// begin enters a term, or gives the vote in it.
func (j *journal) begin(term, vote int) error {
	r := record{Term: term, Vote: vote}
	if vote == 0 || !mistakes.voteLater {
		if err := j.write(true, r); err != nil {
			return err
		}
	}
	j.take(r)
	return nil
}

// replace makes entries follow the one at index. What followed it before is gone.
func (j *journal) replace(index int, entries []entry) error {
	var all []record
	for i := range entries {
		all = append(all, record{Term: j.term, Vote: j.vote, Index: index + 1 + i, Entry: &entries[i]})
	}
	if err := j.write(!mistakes.noSync, all...); err != nil {
		return err
	}
	for _, r := range all {
		j.take(r)
	}
	return nil
}

// last returns the index and the term of the last entry.
func (j *journal) last() (index, term int) {
	index = len(j.log) - 1
	return index, j.log[index].Term
}

// write adds records to the file.
func (j *journal) write(sync bool, records ...record) error {
	if j.err != nil {
		return j.err
	}
	var text []byte
	for _, r := range records {
		text = encode(text, r)
	}
	_, err := j.file.Write(text)
	if err == nil && sync {
		err = j.file.Sync()
	}
	if err != nil {
		j.err = fmt.Errorf("journal: %w", err)
	}
	return j.err
}

// encode appends a line to text: a checksum and the record.
func encode(text []byte, r record) []byte {
	body, err := json.Marshal(r)
	if err != nil {
		panic(err) // a record has only numbers and strings
	}
	return fmt.Appendf(text, "%08x %s\n", crc32.ChecksumIEEE(body), body)
}

// decode reads such a line, and reports whether it is whole.
func decode(line []byte, r *record) bool {
	var sum uint32
	body := bytes.TrimSuffix(line, []byte("\n"))
	if len(body) < 9 {
		return false
	}
	if _, err := fmt.Sscanf(string(body[:9]), "%08x ", &sum); err != nil || sum != crc32.ChecksumIEEE(body[9:]) {
		return false
	}
	return json.Unmarshal(body[9:], r) == nil
}
