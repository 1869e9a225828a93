package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/keys"
)

// keysJSON runs a command about keys, which must succeed, and returns what it tells programs.
func keysJSON(t *testing.T, args ...string) []keyReport {
	t.Helper()
	status, out, errs := weft(append(append([]string{"keys"}, args...), "--json")...)
	var r keysReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 || errs != "" || r.Version != version {
		t.Fatalf("weft keys %v: %v, status %d, %s%s", args, err, status, out, errs)
	}
	return r.Files
}

func doneTo(reports []keyReport) (text []string) {
	for _, r := range reports {
		text = append(text, r.Done+" "+filepath.Base(r.File))
	}
	return text
}

func openRing(t *testing.T, path string) *keys.Keyring {
	t.Helper()
	ring, err := keys.Open(keys.Config{Files: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func TestOneCommandMakesACluster(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "below", "keys")
	made := keysJSON(t, "make", dir, "host1", "10.0.0.2", "--cluster", "lab")
	if got := doneTo(made); !slices.Equal(got, []string{"made authority.pem", "made host1.pem", "made 10.0.0.2.pem"}) {
		t.Error(got)
	}
	one := openRing(t, filepath.Join(dir, "host1.pem")).Identity()
	if one.Cluster != "lab" || one.Name != "host1" || one.Role != "member" || !one.MayRegister("kv/1") {
		t.Errorf("%+v", one)
	}
	if made[1].Addresses[0] != "host1" || made[2].Addresses[0] != "10.0.0.2" || made[1].Trusts[0] != made[0].Fingerprint {
		t.Errorf("%+v", made)
	}
	again := keysJSON(t, "make", dir, "host1", "host3", "--role", "storage", "--service", "kv/*", "--service", "a,b")
	if got := doneTo(again); !slices.Equal(got, []string{"kept authority.pem", "kept host1.pem", "made host3.pem"}) {
		t.Error(got)
	}
	if again[1].Fingerprint != made[1].Fingerprint || again[2].Role != "storage" || !slices.Equal(again[2].Services, []string{"kv/*", "a,b"}) {
		t.Errorf("%+v", again)
	}
	for _, path := range []string{dir, filepath.Join(dir, "host1.pem"), filepath.Join(dir, "authority.pem")} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestOneMemberIsIssuedAndRenewed(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	keysJSON(t, "init", dir)
	issued := keysJSON(t, "issue", dir, "web", "--role", "front", "--service", "web/*", "--address", "web.example.org", "--address", "::1",
		"--valid", "12h", "--out", out)[0]
	path := filepath.Join(out, "web.pem")
	if issued.File != path || issued.Ends.Sub(issued.Begins) != 13*time.Hour || !slices.Equal(issued.Addresses, []string{"web.example.org", "::1"}) {
		t.Errorf("%+v", issued)
	}
	if status, _, errs := weft("keys", "issue", dir, "web", "--out", out); status != exitFailed || !strings.Contains(errs, "--replace takes its place") {
		t.Error(status, errs)
	}
	if b, err := keys.Read(path); err != nil || keysJSON(t, "show", path)[0].Fingerprint != fingerprint(b.Certificate) {
		t.Error(err)
	}
	replaced := keysJSON(t, "issue", dir, "web", "--out", out, "--replace")[0]
	if replaced.Fingerprint == issued.Fingerprint || len(replaced.Services) != 0 || !slices.Equal(replaced.Addresses, []string{"web"}) {
		t.Errorf("%+v", replaced)
	}
	first := keysJSON(t, "issue", dir, "store", "--role", "storage", "--service", "kv/*", "--address", "s", "--valid", "1d")[0]
	ring := openRing(t, first.File)
	renewed := keysJSON(t, "renew", dir, "--valid", "30d")
	if got := doneTo(renewed); !slices.Equal(got, []string{"renewed store.pem"}) {
		t.Fatal(got)
	}
	second := renewed[0]
	if second.Fingerprint == first.Fingerprint || second.Ends.Sub(first.Ends).Round(time.Hour) != 29*oneDay || second.Name != "store" ||
		second.Role != "storage" || !slices.Equal(second.Services, first.Services) || !slices.Equal(second.Addresses, first.Addresses) {
		t.Errorf("%+v became %+v", first, second)
	}
	if shown, err := ring.TLS().GetCertificate(nil); err != nil || fingerprint(shown.Leaf) != second.Fingerprint {
		t.Error("a program that runs shows the old one", err)
	}
}

// While a cluster changes its authority, files hold both. A renewed one does, too.
func TestARenewedMemberTrustsWhomItTrusted(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	path := keysJSON(t, "make", dir, "host1")[1].File
	next, err := keys.ReadAuthority(keysJSON(t, "init", other)[0].File)
	if err != nil {
		t.Fatal(err)
	}
	b, err := keys.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	b.Authorities = append(b.Authorities, next.Bundle().Certificate)
	if err := b.Replace(path); err != nil {
		t.Fatal(err)
	}
	before := keysJSON(t, "show", path)[0]
	if after := keysJSON(t, "renew", dir)[0]; len(after.Trusts) != 2 || !slices.Equal(after.Trusts, before.Trusts) {
		t.Errorf("%v became %v", before.Trusts, after.Trusts)
	}
}

func TestKeysAreShown(t *testing.T) {
	dir := t.TempDir()
	keysJSON(t, "make", dir, "host1", "--service", "kv/*", "--service", "log")
	for file, wants := range map[string][]string{
		"host1.pem": {"name         host1\n", "cluster      weft\n", "role         member\n", "may register kv/*, log\n", "365 days left",
			"in the file: keep it secret", "fingerprint  ", "trusts       "},
		"authority.pem": {"authority of  weft\n", "3650 days left"},
	} {
		status, out, errs := weft("keys", "show", filepath.Join(dir, file))
		for _, want := range wants {
			if status != 0 || !strings.Contains(out, want) {
				t.Errorf("%s: status %d, no %q in\n%s%s", file, status, want, out, errs)
			}
		}
	}
	if _, out, _ := weft("keys", "make", dir, "host1"); !strings.Contains(out, "host1, member: may register kv/*, log  until 20") {
		t.Error(out)
	}
}

func TestEndedKeysAreShownAsEnded(t *testing.T) {
	now := time.Now().UTC()
	ended := keyReport{Begins: now.Add(-time.Hour), Ends: now.Add(-time.Minute)}
	early := keyReport{Begins: now.Add(time.Hour), Ends: now.Add(2 * time.Hour)}
	short := keyReport{Begins: now, Ends: now.Add(3 * time.Hour), Valid: true}
	for want, r := range map[string]keyReport{"ENDED ": ended, "NOT YET valid": early, "3h0m0s left": short} {
		if got := r.until(); !strings.Contains(got, want) {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

func TestKeysRefuse(t *testing.T) {
	dir, other, empty := t.TempDir(), t.TempDir(), t.TempDir()
	keysJSON(t, "make", dir, "host1")
	keysJSON(t, "make", other, "stranger")
	if err := os.Rename(filepath.Join(other, "stranger.pem"), filepath.Join(dir, "stranger.pem")); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(other, "open.pem")
	text, err := os.ReadFile(filepath.Join(dir, "host1.pem"))
	if err != nil || os.WriteFile(open, text, 0o600) != nil || os.Chmod(open, 0o644) != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string // with D, O and E for the directories
		status int
		says   string
	}{
		{"now", 2, `there is no command "now"`},
		{"make", 2, "make takes the directory of the keys and the names of hosts: DIR NAME..."},
		{"make E", 2, "make takes the directory"},
		{"make E a a", 2, `"a" is named twice`},
		{"make E a .b", 2, "letters, digits"},
		{"make E a b/c", 2, "letters, digits"},
		{"make E authority", 2, "the name of the authority's file"},
		{"make E a --cluster a:b", 2, "letters, digits"},
		{"make E a --service k*", 2, "behind a slash"},
		{"make E a --valid 3651d", 2, "the authority itself ends"},
		{"make D host1 --cluster lab", 2, "take another directory"},
		{"make D stranger", 1, "is not from this authority"},
		{"init", 2, "init takes the directory of the keys: DIR"},
		{"init D", 1, "is there already, and stays as it is"},
		{"init E --cluster -", 2, "letters, digits"},
		{"init E --valid soon", 2, "write it as 90d or 12h"},
		{"init E --valid 0d", 2, "write it as 90d or 12h"},
		{"init E --valid 99999999999999999d", 2, "up to 36500d"},
		{"init E --valid 36501d", 2, "up to 36500d"},
		{"issue D", 2, "issue takes the directory of the keys and a name: DIR NAME"},
		{"issue E a", 1, "there is no authority in "},
		{"issue D a --role a/b", 2, "letters, digits"},
		{"issue D a --address a:b", 2, "the address"},
		{"issue D a --out D/host1.pem/x", 1, "not a directory"},
		{"renew E", 1, "there is no authority in "},
		{"renew O", 1, "open.pem has mode 0644"},
		{"renew D stranger", 1, "is not from this authority"},
		{"renew D authority", 1, "of an authority, not of a member"},
		{"renew D nobody", 1, "no such file"},
		{"show", 2, "show takes the file of a certificate: FILE"},
		{"show E", 1, "is not a file"},
		{"show O/open.pem", 1, "chmod 600"},
		{"show D/nobody.pem", 1, "no such file"},
	} {
		var args []string
		for word := range strings.FieldsSeq(c.args) {
			for letter, path := range map[string]string{"D": dir, "O": other, "E": empty} {
				if first, rest, _ := strings.Cut(word, "/"); first == letter {
					word = filepath.Join(path, rest)
				}
			}
			args = append(args, word)
		}
		status, out, errs := weft(append([]string{"keys"}, args...)...)
		if status != c.status || out != "" || !strings.Contains(errs, c.says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, want %d; %q on stderr, want %q; it printed %.100s", c.args, status, c.status, errs, c.says, out)
		}
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) != 0 {
		t.Error("what was refused left files behind:", left, err)
	}
}
