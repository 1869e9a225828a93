package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asMembers is in the environment of processes that are to be members, and lists where they meet.
const asMembers = "CAST_MEMBERS"

func TestMain(m *testing.M) {
	if list := os.Getenv(asMembers); list != "" {
		members = strings.Fields(list)
		main()
		return
	}
	os.Exit(m.Run())
}

// start starts a member. It is killed if it hangs.
func start(t *testing.T, folder string, self int, path string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, strconv.Itoa(self), path)
	cmd.Env = append(os.Environ(), asMembers+"="+strings.Join([]string{"unix:" + folder + "/0", "unix:" + folder + "/1", "unix:" + folder + "/2"}, " "))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hung := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	t.Cleanup(func() { hung.Stop() })
	return cmd
}

// The file comes to whoever lives, also if a member dies before it is sent.
func TestCast(t *testing.T) {
	content := bytes.Repeat([]byte("warp and weft "), 300_000)
	for _, dies := range []bool{false, true} {
		folder := t.TempDir()
		file, copies := filepath.Join(folder, "file"), []string{filepath.Join(folder, "copy1"), filepath.Join(folder, "copy2")}
		if err := syscall.Mkfifo(file, 0o600); err != nil {
			t.Fatal(err)
		}
		root, one, two := start(t, folder, 0, file), start(t, folder, 1, copies[0]), start(t, folder, 2, copies[1])
		pipe, err := os.OpenFile(file, os.O_WRONLY, 0) // waits for the root, which reads when the group is there
		if err != nil {
			t.Fatal(err)
		}
		if dies {
			two.Process.Kill()
			two.Wait()
			copies = copies[:1]
		}
		if _, err := pipe.Write(content); err != nil {
			t.Fatal(err)
		}
		pipe.Close()
		for _, cmd := range []*exec.Cmd{root, one} {
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %v", cmd.Args[1:], err)
			}
		}
		if !dies {
			two.Wait()
		}
		for _, path := range copies {
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s: %d bytes, %v", path, len(got), err)
			}
		}
	}
}
