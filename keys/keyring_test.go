package keys

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestANewFileIsUsedAtTheNextHandshake(t *testing.T) {
	a := newAuthority(t, "c")
	path := stored(t, issue(t, a, member("first")))
	k, err := Open(Config{Files: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	other := ring(t, issue(t, a, member("other")))
	config, others := k.TLS(), other.TLS() // made once, as programs do
	for _, name := range []string{"second", "third"} {
		if err := issue(t, a, member(name)).Replace(path); err != nil {
			t.Fatal(err)
		}
		asServer, err := other.Peer(meet(t, config, others).client)
		if err != nil || asServer.Name != name {
			t.Errorf("as server it is %v, %v", asServer, err)
		}
		asClient, err := other.Peer(meet(t, others, config).server)
		if err != nil || asClient.Name != name || k.Identity().Name != name {
			t.Errorf("as client it is %v, %v", asClient, err)
		}
	}
}

// A cluster changes its authority: first all trust both, then all get new certificates, then all trust the new one.
func TestANewAuthorityIsTrustedAtTheNextHandshake(t *testing.T) {
	before, after := newAuthority(t, "c"), newAuthority(t, "c")
	mine := issue(t, before, member("mine"))
	path := stored(t, mine)
	k, err := Open(Config{Files: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	config := k.TLS().Clone()
	config.ClientAuth = tls.RequireAndVerifyClientCert // as the software NIC does
	theirs := issue(t, after, member("theirs"))
	theirs.Authorities = append(theirs.Authorities, before.own.Certificate)
	others := ring(t, theirs).TLS()
	mustContain(t, meet(t, config, others).serverFailed, "unknown authority")
	mine.Authorities = append(mine.Authorities, after.own.Certificate)
	if err := mine.Replace(path); err != nil {
		t.Fatal(err)
	}
	if m := meet(t, config, others); m.serverFailed != nil || m.clientFailed != nil {
		t.Error(m.serverFailed, m.clientFailed)
	}
	mine.Authorities = []*x509.Certificate{before.own.Certificate}
	if err := mine.Replace(path); err != nil {
		t.Fatal(err)
	}
	mustContain(t, meet(t, others, config).clientFailed, "unknown authority")
}

func TestFilesThatCannotBeUsedChangeNothing(t *testing.T) {
	a := newAuthority(t, "c")
	good := encoded(t, issue(t, a, member("good")))
	path := stored(t, issue(t, a, member("first")))
	var log strings.Builder
	k, err := Open(Config{Files: []string{path}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	expired := &Authority{cluster: "c", own: a.own, now: at(time.Now().Add(-DefaultValid - time.Minute))}
	for says, spoil := range map[string]func(){
		"no certificate":  func() { write(t, path, "half", 0o600) },
		"chmod 600":       func() { write(t, path, good, 0o644) },
		"weft keys renew": func() { write(t, path, encoded(t, issue(t, expired, member("late"))), 0o600) },
		"no such file":    func() { os.Remove(path) },
		"unknown authority": func() {
			write(t, path, strings.Replace(good, encoded(t, &Bundle{Certificate: a.own.Certificate}), encoded(t, &Bundle{Certificate: newAuthority(t, "c").own.Certificate}), 1), 0o600)
		},
	} {
		log.Reset()
		spoil()
		for range 3 {
			if name := k.Identity().Name; name != "first" {
				t.Errorf("%s: it is %s now", says, name)
			}
		}
		if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), says) {
			t.Errorf("want %q once in the log, there is %s", says, &log)
		}
	}
	write(t, path, good, 0o644)
	k.Identity()
	if err := os.Chmod(path, 0o600); err != nil { // the file itself has not changed
		t.Fatal(err)
	}
	if name := k.Identity().Name; name != "good" {
		t.Errorf("it is still %s", name)
	}
}

func TestGoroutinesShareAKeyring(t *testing.T) {
	a := newAuthority(t, "c")
	path := stored(t, issue(t, a, member("first")))
	k, err := Open(Config{Files: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				k.Identity()
				_, _ = k.show()
			}
		})
	}
	for range 5 {
		if err := issue(t, a, member("next")).Replace(path); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
	k.Identity().Services[0] = "theirs"
	if id := k.Identity(); id.Name != "next" || id.Services[0] != "kv/*" {
		t.Errorf("%+v", id)
	}
}
