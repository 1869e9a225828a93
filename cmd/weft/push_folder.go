package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// How folders of agents of this host are called, below a folder for what is temporary. Those that are to be kept are nobody's to remove.
const (
	localPattern = "weft-local-*"
	keptPattern  = "weft-kept-*"
)

// markName is in each folder that may be removed: others may have folders of such names.
const markName = "made-by-weft-push-local"

// lockedFolder makes a folder whose lock is held for as long as the file is open, and thus by nobody when this process was killed.
func lockedFolder(below, pattern string) (dir string, lock *os.File, err error) {
	for {
		if dir, err = os.MkdirTemp(below, pattern); err != nil {
			return "", nil, err
		}
		if lock, err = lockFolder(dir); err == nil {
			return dir, lock, os.WriteFile(filepath.Join(dir, markName), nil, 0o600)
		}
		if !errors.Is(err, os.ErrNotExist) { // else somebody swept it away before it was locked
			return "", nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
}

// lockFolder takes the lock of a folder that still has its name.
func lockFolder(dir string) (*os.File, error) {
	file, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = os.ErrNotExist // for who has just made it: who sweeps is about to remove it
	}
	if err == nil {
		var mine, there os.FileInfo
		if mine, err = file.Stat(); err == nil {
			there, err = os.Lstat(dir)
		}
		if err == nil && !os.SameFile(mine, there) {
			err = os.ErrNotExist
		}
	}
	if err != nil {
		_ = file.Close() // it was only looked at
		return nil, err
	}
	return file, nil
}

// sweepFolders removes what is left of pushers that were killed: folders of this user that they have marked, and nobody has locked.
func sweepFolders(below string) {
	all, _ := filepath.Glob(filepath.Join(below, localPattern))
	for _, dir := range all {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() || !isMine(info) {
			continue
		}
		if mark, err := os.Lstat(filepath.Join(dir, markName)); err != nil || !mark.Mode().IsRegular() {
			continue
		}
		if lock, err := lockFolder(dir); err == nil {
			_ = os.RemoveAll(dir) // what stays is for the next one
			_ = lock.Close()
		}
	}
}

func isMine(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
