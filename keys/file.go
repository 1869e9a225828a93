package keys

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxFile bounds a file that is read, in bytes.
const maxFile = 256 << 10

// Read reads a bundle from one file, or from several that hold its parts. A file with a key must be for its owner only.
func Read(paths ...string) (*Bundle, error) {
	var all []byte
	for _, path := range paths {
		text, err := readFile(path)
		if err != nil {
			return nil, err
		}
		all = append(append(all, text...), '\n')
	}
	b, err := ParseBundle(all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", list(paths), err)
	}
	return b, nil
}

// list is the names of files, for errors.
func list(paths []string) string {
	if len(paths) == 1 {
		return paths[0]
	}
	return fmt.Sprint(paths)
}

func readFile(path string) ([]byte, error) {
	// Without O_NONBLOCK a named pipe would have us wait for somebody who writes.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file: %w", path, ErrNotKeys)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxFile:
		return nil, fmt.Errorf("%s has more than %d bytes: %w", path, maxFile, ErrNotKeys)
	case bytes.Contains(text, []byte("PRIVATE KEY")) && !private(info):
		return nil, fmt.Errorf("%s has mode %04o: %w: chmod 600 it, and issue a new one if somebody may have", path, info.Mode().Perm(), ErrExposed)
	}
	return text, nil
}

// private reports whether a file is for its owner only. What root has lent to a group, as cluster managers do, is too.
func private(info fs.FileInfo) bool {
	mode := info.Mode().Perm()
	system, ok := info.Sys().(*syscall.Stat_t)
	return mode&0o077 == 0 || mode&0o037 == 0 && ok && system.Uid == 0
}

// Write makes a file that only its owner can read. If there is one already, it stays, and the error is fs.ErrExist.
func (b *Bundle) Write(path string) error {
	return b.write(path, func(temporary string) error {
		err := os.Link(temporary, path)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s: %w", path, fs.ErrExist)
		}
		return err
	})
}

// Replace is Write, but takes the place of a file that is there, in one step.
func (b *Bundle) Replace(path string) error {
	return b.write(path, func(temporary string) error { return os.Rename(temporary, path) })
}

// write writes a temporary file and has place give it its name, so that nobody ever sees half of it.
func (b *Bundle) write(path string, place func(temporary string) error) error {
	text, err := b.Encode()
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".weft-keys-*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // after a rename there is nothing to remove
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return place(file.Name())
}
