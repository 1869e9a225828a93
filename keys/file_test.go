package keys

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func encoded(t *testing.T, b *Bundle) string {
	t.Helper()
	text, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestABundleIsReadAsItWasWritten(t *testing.T) {
	b := issue(t, newAuthority(t, "c"), member("m"))
	path := stored(t, b)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info.Mode(), err)
	}
	got, err := Read(path)
	if err != nil || encoded(t, got) != encoded(t, b) || !got.Certificate.Equal(b.Certificate) {
		t.Errorf("%v, %v", got, err)
	}
}

// Other tools keep certificate, key and authority apart, and in another order.
func TestABundleInParts(t *testing.T) {
	b := issue(t, newAuthority(t, "c"), member("m"))
	parts := strings.SplitAfter(encoded(t, b), "-----\n-----BEGIN") // key, certificate, authority
	if len(parts) != 3 {
		t.Fatal(len(parts))
	}
	dir := t.TempDir()
	var paths []string
	for i, name := range []string{"tls.key", "tls.crt", "ca.crt"} {
		text := strings.TrimSuffix(parts[i], "-----BEGIN")
		if i > 0 {
			text = "-----BEGIN" + text
		}
		path := filepath.Join(dir, name)
		write(t, path, strings.TrimSuffix(text, "\n"), 0o600)
		paths = append([]string{path}, paths...)
	}
	if k, err := Open(Config{Files: paths}); err != nil || k.Identity().Name != "m" {
		t.Error(err)
	}
	_, err := Open(Config{Files: paths[:2]}) // no key
	mustContain(t, err, "there is no key", "ca.crt", "tls.crt")
	_, err = Open(Config{Files: paths[1:]})
	mustContain(t, err, "no certificate of an authority")
	_, err = Open(Config{Files: []string{paths[0], paths[2]}})
	mustContain(t, err, "the key fits no certificate")
	if _, err = Open(Config{}); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
}

func TestNothingIsOverwrittenWithoutBeingTold(t *testing.T) {
	a := newAuthority(t, "c")
	first, second := issue(t, a, member("m")), issue(t, a, member("m"))
	path := stored(t, first)
	if err := second.Write(path); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if got, err := Read(path); err != nil || !got.Certificate.Equal(first.Certificate) {
		t.Error("the file has changed", err)
	}
	if err := second.Replace(path); err != nil {
		t.Error(err)
	}
	if got, err := Read(path); err != nil || !got.Certificate.Equal(second.Certificate) {
		t.Error("the file has not changed", err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Error(left, err)
	}
	if err := second.Write(filepath.Join(path, "below")); err == nil {
		t.Error("a file has a file below it")
	}
}

func TestAKeyThatOthersCanReadIsRefused(t *testing.T) {
	b := issue(t, newAuthority(t, "c"), member("m"))
	path := stored(t, b)
	for _, mode := range []os.FileMode{0o604, 0o602, 0o660, 0o644, 0o601} {
		write(t, path, encoded(t, b), mode)
		_, err := Read(path)
		mustContain(t, err, "chmod 600", path)
		if !errors.Is(err, ErrExposed) {
			t.Error(mode, err)
		}
	}
	write(t, path, encoded(t, b), 0o640)
	if _, err := Read(path); errors.Is(err, ErrExposed) == (os.Getuid() == 0) {
		t.Error("only root may lend a file to a group:", err)
	}
	public := *b
	public.Key = nil
	write(t, path, encoded(t, &public), 0o644)
	if _, err := Read(path); err != nil {
		t.Error("certificates are no secret:", err)
	}
}

func TestFilesThatAreNoKeys(t *testing.T) {
	dir := t.TempDir()
	a := newAuthority(t, "c")
	b := encoded(t, issue(t, a, member("m")))
	for says, text := range map[string]string{
		"no certificate":              "warp and weft",
		"more than 262144 bytes":      strings.Repeat("a", maxFile+1),
		"there are two keys":          b + b,
		"certificates of two members": b + encoded(t, &Bundle{Certificate: issue(t, a, member("n")).Certificate}),
		"more than 17 certificates":   strings.Repeat(encoded(t, &Bundle{Certificate: a.own.Certificate}), 18),
		"x509":                        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		"asn1":                        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
		"without a password":          "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
		"the key fits no certificate": strings.Replace(b, b[strings.Index(b, "-----BEGIN CERT"):], encoded(t, &Bundle{Certificate: a.own.Certificate}), 1),
	} {
		path := filepath.Join(dir, "x.pem")
		write(t, path, text, 0o600)
		_, err := Read(path)
		mustContain(t, err, says, path)
		if !errors.Is(err, ErrNotKeys) {
			t.Error(err)
		}
	}
	if _, err := Read(dir); !errors.Is(err, ErrNotKeys) {
		t.Error(err)
	}
	if _, err := Read(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(pipe); !errors.Is(err, ErrNotKeys) {
		t.Error(err)
	}
}

// FuzzParseBundle: what is accepted is written as it was read.
func FuzzParseBundle(f *testing.F) {
	a, err := NewAuthority("c", 0)
	if err != nil {
		f.Fatal(err)
	}
	b, err := a.Issue(member("m"))
	if err != nil {
		f.Fatal(err)
	}
	text, err := b.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(bytes.Replace(text, []byte("PRIVATE"), []byte("EC PRIVATE"), 2))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := ParseBundle(text)
		if err != nil {
			return
		}
		_, _ = IdentityOf(b.Certificate)
		_, _ = ClusterOf(b.Certificate)
		first, err := b.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseBundle(first)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := again.Encode(); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s became %s, %v", first, second, err)
		}
	})
}
