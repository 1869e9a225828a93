package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/weft-fabric/weft/push"
)

// lastPush is what is kept of the last push, to be explained.
type lastPush struct {
	Version string       `json:"weft"`
	Time    time.Time    `json:"time"`
	Command string       `json:"command"`
	Report  *push.Report `json:"report"`
}

// lastPath is where it is kept.
func lastPath() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // so says the convention
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "weft", "last-push.json"), nil
}

// remember keeps the report for weft explain --last. Who has no home, or cannot write there, has pushed all the same.
func (s *pushSettings) remember(r *push.Report) {
	if err := keepLast(lastPush{version, time.Now(), s.again + " " + s.targets(), r}); err != nil && !s.mute && !s.asJSON {
		fmt.Fprintf(s.errs, "weft: the report is not kept for 'weft explain --last': %v\n", err)
	}
}

func keepLast(last lastPush) error {
	path, err := lastPath()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(last, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return writeWhole(path, text)
}

// readLast reads what was kept.
func readLast() (*lastPush, error) {
	path, err := lastPath()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there was no push yet that could be explained")
	}
	last := &lastPush{}
	if err == nil {
		err = json.Unmarshal(text, last)
	}
	if err == nil && last.Report == nil {
		err = errors.New("it holds no report")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return last, nil
}

// writeWhole writes a file so that nobody sees half of it. What is no file, such as /dev/stderr, is written to.
func writeWhole(path string, text []byte) (err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, text, 0)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // what matters has failed already
	}
	return err
}
