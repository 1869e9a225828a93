package keys

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// scheme is that of the URIs in which names stand.
const scheme = "weft"

// Identity is who somebody is, as an authority says.
type Identity struct {
	Cluster  string   // to which it belongs
	Name     string   // of the host or the program
	Role     string   // a word; programs give it a meaning
	Services []string // patterns of what it may register: see MayRegister
}

// IdentityOf reads who the owner of a certificate is. It does not ask who has signed it: Keyring.Peer does.
func IdentityOf(c *x509.Certificate) (Identity, error) {
	if c.IsCA {
		return Identity{}, fmt.Errorf("it is the certificate of an authority, not of a member: %w", ErrNoIdentity)
	}
	id, err := parseIdentity(c.URIs)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", err, ErrNoIdentity)
	}
	return id, nil
}

// parseIdentity reads the URIs of a certificate. Those of other schemes are not ours to judge.
func parseIdentity(uris []*url.URL) (id Identity, err error) {
	for _, u := range uris {
		if u.Scheme != scheme {
			continue
		}
		if err := id.add(u); err != nil {
			return Identity{}, err
		}
	}
	if id.Cluster == "" {
		return Identity{}, fmt.Errorf("it has no URI that begins with %s://", scheme)
	}
	return id, id.check()
}

// add takes what one URI says. What is not known is refused, not skipped: it might restrict something.
func (i *Identity) add(u *url.URL) error {
	if (*u != url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}) {
		return fmt.Errorf("%q has more than a cluster and a path", u)
	}
	if u.Host == "" {
		return fmt.Errorf("%q has no cluster", u)
	}
	if i.Cluster != "" && i.Cluster != u.Host {
		return fmt.Errorf("it is of two clusters, %q and %q", i.Cluster, u.Host)
	}
	i.Cluster = u.Host
	kind, value, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	switch kind {
	case "name":
		return setOnce(&i.Name, value, kind)
	case "role":
		return setOnce(&i.Role, value, kind)
	case "service":
		i.Services = append(i.Services, value)
		return checkCount(len(i.Services), "services", MaxServices)
	}
	return fmt.Errorf("%q is not known: is it of a later version?", u)
}

func setOnce(field *string, value, kind string) error {
	switch {
	case *field != "":
		return fmt.Errorf("it has two %ss, %q and %q", kind, *field, value)
	case value == "":
		return fmt.Errorf("it has an empty %s", kind)
	}
	*field = value
	return nil
}

func checkCount(n int, what string, limit int) error {
	if n > limit {
		return fmt.Errorf("more than %d %s", limit, what)
	}
	return nil
}

// check says what is wrong with an identity, from a certificate or from somebody who wants one.
func (i Identity) check() error {
	err := cmp.Or(checkWord("cluster", i.Cluster, MaxWord), checkWord("name", i.Name, MaxName), checkWord("role", i.Role, MaxWord),
		checkCount(len(i.Services), "services", MaxServices))
	if err != nil {
		return err
	}
	for n, pattern := range i.Services {
		if err := checkPattern(pattern); err != nil {
			return err
		}
		if slices.Contains(i.Services[:n], pattern) {
			return fmt.Errorf("service %q is named twice", pattern)
		}
	}
	return nil
}

// checkWord refuses what cannot be a host in a URI, and a file's name.
func checkWord(what, word string, limit int) error {
	switch {
	case word == "":
		return fmt.Errorf("there is no %s", what)
	case len(word) > limit:
		return fmt.Errorf("the %s has %d bytes, allowed are %d", what, len(word), limit)
	}
	for label := range strings.SplitSeq(word, ".") {
		if label == "" || len(label) > MaxWord || strings.ContainsFunc(label, notInWord) || label[0] == '-' {
			return fmt.Errorf("the %s %q may have letters, digits, - and _ only, and single dots between them", what, word)
		}
	}
	return nil
}

func notInWord(r rune) bool {
	letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	return !letter && (r < '0' || r > '9') && r != '-' && r != '_'
}

// uris is the identity as parseIdentity reads it.
func (i Identity) uris() []*url.URL {
	uris := []*url.URL{i.uri("name", i.Name), i.uri("role", i.Role)}
	for _, pattern := range i.Services {
		uris = append(uris, i.uri("service", pattern))
	}
	return uris
}

func (i Identity) uri(kind, value string) *url.URL {
	return &url.URL{Scheme: scheme, Host: i.Cluster, Path: "/" + kind + "/" + value}
}

func (i Identity) String() string {
	return fmt.Sprintf("%s (%s of cluster %s)", i.Name, i.Role, i.Cluster)
}
