package keys

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRequestsThatAreRefused(t *testing.T) {
	a, day := newAuthority(t, "c"), 24*time.Hour
	for says, change := range map[string]func(*Request){
		"there is no name":  func(r *Request) { r.Name = "" },
		"there is no role":  func(r *Request) { r.Role = "" },
		`the name "a/b"`:    func(r *Request) { r.Name = "a/b" },
		`the name ".a"`:     func(r *Request) { r.Name = ".a" },
		`the role "a b"`:    func(r *Request) { r.Role = "a b" },
		"allowed are 63":    func(r *Request) { r.Role = strings.Repeat("r", 64) },
		"behind a slash":    func(r *Request) { r.Services = []string{"kv*"} },
		"named twice":       func(r *Request) { r.Services = []string{"kv", "kv"} },
		"more than 64 serv": func(r *Request) { r.Services = slices.Repeat([]string{"kv"}, 65) },
		"from a minute":     func(r *Request) { r.Valid = time.Second },
		"to 36500 days":     func(r *Request) { r.Valid = -day },
		"authority itself":  func(r *Request) { r.Valid = 3651 * day },
		`the address "a:b"`: func(r *Request) { r.Addresses = []string{"a:b"} },
		"64 addresses":      func(r *Request) { r.Addresses = slices.Repeat([]string{"a"}, 65) },
	} {
		r := member("host1")
		change(&r)
		_, err := a.Issue(r)
		mustContain(t, err, says)
		if !errors.Is(err, ErrArgument) {
			t.Errorf("%v is no ErrArgument", err)
		}
	}
	for _, cluster := range []string{"", "a b", "a..b", "a.", "-a", "ä", "a:1"} {
		if _, err := NewAuthority(cluster, 0); !errors.Is(err, ErrArgument) {
			t.Errorf("cluster %q: %v", cluster, err)
		}
	}
	if _, err := NewAuthority("c", MaxValid+day); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
}

// Clients that are not of Weft, and ask for host names, find them.
func TestAddressesAreInTheCertificate(t *testing.T) {
	r := member("host1")
	r.Addresses = []string{"host1.example.org", "*.lab", "10.0.0.1", "fd00::1"}
	c := issue(t, newAuthority(t, "c"), r).Certificate
	for _, host := range []string{"host1.example.org", "x.lab", "10.0.0.1", "fd00::1"} {
		if err := c.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
	if c.VerifyHostname("host1") == nil {
		t.Error("a name is an address, though nobody said so")
	}
}

func TestALongNameIsCutOnlyForPeople(t *testing.T) {
	name := strings.Repeat("a.", 99) + "b"
	c := issue(t, newAuthority(t, "c"), member(name)).Certificate
	id, err := IdentityOf(c)
	if err != nil || id.Name != name || len(c.Subject.CommonName) != 64 {
		t.Errorf("%v, %v, %q", id, err, c.Subject.CommonName)
	}
}

func TestAnAuthorityIsReadAsItWasWritten(t *testing.T) {
	a := newAuthority(t, "c")
	path := stored(t, a.Bundle())
	again, err := ReadAuthority(path)
	if err != nil || again.Cluster() != "c" {
		t.Fatal(again, err)
	}
	// What one issues, the other's members accept.
	if _, err := ring(t, issue(t, a, member("m"))).current().judge(issue(t, again, member("n")).Certificate, time.Now()); err != nil {
		t.Error(err)
	}
	bare := *a.Bundle()
	bare.Key = nil
	_, err = ReadAuthority(stored(t, &bare))
	mustContain(t, err, "the key of the authority is not there")
	_, err = ReadAuthority(stored(t, issue(t, a, member("m"))))
	mustContain(t, err, "certificate of a member")
}
