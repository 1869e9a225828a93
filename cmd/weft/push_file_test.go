package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file has what neither the command line nor the environment says, where the pusher's keys are or where --config says.
func TestPushSettingsFromAFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("PUSH_FANOUT", "7")
	if err := os.Mkdir(filepath.Join(dir, "weft"), 0o700); err != nil {
		t.Fatal(err)
	}
	usual := filepath.Join(dir, "weft", "push.toml")
	writeConfig(t, usual, "bwlimit = '1MB'\nfanout = 9\nchecksum = true\nhosts = ['node[1-3]', 'db']\nblock = '64KiB'\nkeys = ['k1', 'k2']\n")
	s := settingsOf(t, "a b --block 32KiB")
	if c := s.config; c.Rate != 1e6 || c.Fan != 7 || !c.Checksum || c.Block != 32<<10 || strings.Join(s.names, " ") != "node1 node2 node3 db" || len(s.keys) != 2 {
		t.Errorf("%+v, %q, %q", c, s.names, s.keys)
	}
	if s := settingsOf(t, "a --local 2"); s.local != 2 || len(s.names) != 2 {
		t.Errorf("%d, %q", s.local, s.names)
	}
	other := filepath.Join(dir, "other.toml")
	writeConfig(t, other, "local = 3\n")
	if s := settingsOf(t, "a --config "+other); s.local != 3 || s.config.Rate != 0 {
		t.Errorf("%d, %+v", s.local, s.config)
	}
	writeConfig(t, other, "local = 3\nhosts = ['db']\nhosts-file = '/no/such/file'\n")
	writeConfig(t, usual, "node7\n")
	if s := settingsOf(t, "a b --config "+other+" --hosts-file "+usual); s.local != 0 || strings.Join(s.names, " ") != "node7" {
		t.Errorf("of all hosts those on the command line are meant, and not %q", s.names)
	}
	if s := settingsOf(t, "a b --config "+other+" -w node8"); strings.Join(s.names, " ") != "node8" {
		t.Errorf("of all hosts those on the command line are meant, and not %q", s.names)
	}
	writeConfig(t, usual, "")
	badInput{"verify a b -w node1 --keys /no/such.pem", 7, "--keys: "}.check(t) // it has no --bwlimit, and does without
}

// Who types -x and leaves out nobody hears it. A list in a file, or one that is always left out, need not have hosts of every push.
func TestExcludesNobody(t *testing.T) {
	list := filepath.Join(t.TempDir(), "down")
	writeConfig(t, list, "node9\n")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for line, want := range map[string]string{
		"-x node9": "weft: -x node9 leaves out nobody\n", "-x node1": "", "-x node1,node9": "", "-x ^" + list: "", "--exclude=": "weft: -x '' leaves out nobody\n", "-x node9 -q": "", "-x node9 --json": "",
		"-x node1 -x node[8-9]": "weft: -x 'node[8-9]' leaves out nobody\n",
	} {
		_, _, errs := weft(strings.Fields("push a b -w node[1-2] " + line)...)
		if warned := strings.Contains(errs, "leaves out nobody"); warned != (want != "") || !strings.HasPrefix(errs, want) {
			t.Errorf("%s: %s", line, errs)
		}
	}
	t.Setenv("PUSH_EXCLUDE", "node9")
	if _, _, errs := weft("push", "a", "b", "-w", "node1"); strings.Contains(errs, "leaves out nobody") {
		t.Error(errs)
	}
}

func TestPushFileRefuses(t *testing.T) {
	name := filepath.Join(t.TempDir(), "push.toml")
	for text, says := range map[string]string{
		"bwlimt = '1MB'":         `there is no setting "bwlimt"`,
		"config = 'x'":           `there is no setting "config"`,
		"fanout = 'many'":        "push.toml: fanout: ",
		"bwlimit = 'fast'":       "write what goes in a second",
		"hosts = [1, 2]":         "hosts: a list is of texts",
		"fanout = 1979-05-27":    "fanout: write a text, a number",
		"hosts = ":               "push.toml:1: ",
		"[push]\nfanout = 3":     `there is no setting "push"`,
		strings.Repeat("#", 2e6): "a configuration has at most",
	} {
		writeConfig(t, name, text)
		badInput{"push a b -w node1 --config " + name, exitUsage, says}.check(t)
	}
	badInput{"push a b -w node1 --config /no/such.toml", exitUsage, "--config: open /no/such.toml"}.check(t)
}

func writeConfig(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
