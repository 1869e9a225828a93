package machine

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// archive writes a cpio archive in the "newc" format, which the kernel unpacks as its first file system.
type archive struct {
	to      io.Writer
	entries int
	err     error // the first that happened
}

// add writes one file or folder. Folders come before what is in them.
func (a *archive) add(name string, mode fs.FileMode, data []byte) {
	const regular, folder = 0o100000, 0o040000
	kind := regular
	if mode.IsDir() {
		kind = folder
	}
	a.entries++
	a.write(name, kind|int(mode.Perm()), data)
}

// addFile writes a copy of a file of the host.
func (a *archive) addFile(name string, mode fs.FileMode, source string) {
	data, err := os.ReadFile(source)
	if err != nil && a.err == nil {
		a.err = err
	}
	a.add(name, mode, data)
}

// close writes the mark of the end, and returns the first error.
func (a *archive) close() error {
	a.write("TRAILER!!!", 0, nil)
	return a.err
}

// write writes a header of 13 numbers, the name with a zero behind it, and the data. The latter two are filled up to a
// multiple of four bytes.
func (a *archive) write(name string, mode int, data []byte) {
	const headerBytes = 110
	head := fmt.Sprintf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		a.entries, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0)
	a.put([]byte(head + name + "\x00"))
	a.fill(headerBytes + len(name) + 1)
	a.put(data)
	a.fill(len(data))
}

func (a *archive) fill(written int) { a.put(make([]byte, -written&3)) }

func (a *archive) put(data []byte) {
	if a.err == nil {
		_, a.err = a.to.Write(data)
	}
}
