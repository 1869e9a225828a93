package keys

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func newAuthority(t *testing.T, cluster string) *Authority {
	t.Helper()
	a, err := NewAuthority(cluster, 0)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issue(t *testing.T, a *Authority, r Request) *Bundle {
	t.Helper()
	b, err := a.Issue(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// member is a request for an ordinary member.
func member(name string) Request {
	return Request{Name: name, Role: "member", Services: []string{"kv/*"}}
}

// ring opens a bundle from a file of its own.
func ring(t *testing.T, b *Bundle) *Keyring {
	t.Helper()
	k, err := Open(Config{Files: []string{stored(t, b)}})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func stored(t *testing.T, b *Bundle) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "member.pem")
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the mask is
		t.Fatal(err)
	}
}

// at is a clock that stands.
func at(t time.Time) func() time.Time { return func() time.Time { return t } }

func mustContain(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %v, and should tell of %q", err, part)
		}
	}
}
