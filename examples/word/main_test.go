package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The two halves run as a reader of the README would run them: as two processes.
func TestMain(m *testing.M) {
	if os.Getenv("WEFT_WORD") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func word(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "WEFT_WORD=1")
	return cmd
}

func TestOneWritesWhatTheOtherLends(t *testing.T) {
	var said bytes.Buffer
	lender := word("lend")
	lender.Stdout, lender.Stderr = &said, &said
	if err := lender.Start(); err != nil {
		t.Fatal(err)
	}
	var out []byte
	var err error
	for range 100 { // until the lender listens
		if out, err = word("write", "42").CombinedOutput(); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		_ = lender.Process.Kill()
		t.Errorf("write: %v: %s", err, out)
	}
	if err := lender.Wait(); err != nil || !strings.Contains(said.String(), "writer wrote 42") {
		t.Errorf("lend: %v: %s", err, said.String())
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"lend", "it"}, {"write"}, {"write", "much"}} {
		if out, err := word(args...).CombinedOutput(); err == nil || !bytes.HasPrefix(out, []byte("word: ")) {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}
