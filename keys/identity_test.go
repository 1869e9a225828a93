package keys

import (
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

func TestAnIdentityIsReadAsItWasIssued(t *testing.T) {
	a := newAuthority(t, "weft-1.lab")
	b := issue(t, a, Request{Name: "host_1.example.org", Role: "storage", Services: []string{"kv/*", "log", "*", "späne 1/☃", "100%/a?b#c", "/x//y"}})
	want := Identity{"weft-1.lab", "host_1.example.org", "storage", []string{"kv/*", "log", "*", "späne 1/☃", "100%/a?b#c", "/x//y"}}
	if got, err := IdentityOf(b.Certificate); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestStarsOfServices(t *testing.T) {
	for _, c := range []struct {
		pattern string
		may     string // separated by spaces
		mayNot  string
	}{
		{"kv", "kv", "kv/ kv/3 k kv2 KV *"},
		{"kv/*", "kv/3 kv/a/b kv/*", "kv kv/ kv2/3 akv/3 *"},
		{"a/b/*", "a/b/c", "a/b a/c a/b/"},
		{"*", "kv kv/3 * / a/b/c", ""},
	} {
		id := Identity{Services: []string{"other", c.pattern}}
		for name := range strings.FieldsSeq(c.may) {
			if !id.MayRegister(name) {
				t.Errorf("%s does not allow %s", c.pattern, name)
			}
		}
		for name := range strings.FieldsSeq(c.mayNot) {
			if id.MayRegister(name) {
				t.Errorf("%s allows %s", c.pattern, name)
			}
		}
	}
}

func TestNobodyMayRegisterWhatIsNoName(t *testing.T) {
	all := Identity{Services: []string{"*"}}
	for _, name := range []string{"", "a\nb", "\xff", strings.Repeat("a", MaxServiceName+1)} {
		if all.MayRegister(name) {
			t.Errorf("%q is allowed", name)
		}
	}
	if !all.MayRegister(strings.Repeat("a", MaxServiceName)) || (Identity{}).MayRegister("kv") {
		t.Error("the longest name is refused, or somebody without services may register")
	}
}

// names are the URIs of a certificate, separated by spaces.
func names(t testing.TB, text string) (uris []*url.URL) {
	for word := range strings.FieldsSeq(text) {
		u, err := url.Parse(word)
		if err != nil {
			t.Skip(err)
		}
		uris = append(uris, u)
	}
	return uris
}

func TestNamesThatAreRefused(t *testing.T) {
	const good = "weft://c/name/n weft://c/role/r "
	if _, err := parseIdentity(names(t, good+"spiffe://elsewhere/x weft://c/service/kv/*")); err != nil {
		t.Fatal(err)
	}
	for text, says := range map[string]string{
		"":                  "no URI that begins with weft://",
		"spiffe://c/name/n": "no URI that begins with weft://",
		"weft://c/name/n":   "no role",
		"weft://c/role/r":   "no name",
		"weft://c/name/ weft://c/name/n weft://c/role/r":            "an empty name",
		"weft:///name/n weft://c/role/r":                            "has no cluster",
		good + "weft://d/service/kv":                                "two clusters",
		good + "weft://c/role/s":                                    "two roles",
		good + "weft://c/name/m":                                    "two names",
		good + "weft://c/colour/red":                                "later version",
		good + "weft://c":                                           "later version",
		good + "weft://c/service/":                                  "empty name",
		good + "weft://c/service/k*":                                "behind a slash",
		good + "weft://c/service/*/a":                               "behind a slash",
		good + "weft://c/service/a/**":                              "behind a slash",
		good + "weft://c/service//*":                                "behind a slash",
		good + "weft://c/service/a%0Ab":                             "not printable",
		good + "weft://c/service/kv?x":                              "more than a cluster and a path",
		good + "weft://u@c/service/kv":                              "more than a cluster and a path",
		good + "weft://c/service/kv#x":                              "more than a cluster and a path",
		good + "weft:service":                                       "more than a cluster and a path",
		"weft://c:1/name/n weft://c:1/role/r":                       "letters, digits",
		"weft://c/name/.. weft://c/role/r":                          "letters, digits",
		"weft://c/name/a/b weft://c/role/r":                         "letters, digits",
		"weft://c/name/-a weft://c/role/r":                          "letters, digits",
		good + "weft://c/service/" + strings.Repeat("a", 256):       "allowed are 255",
		good + strings.Repeat("weft://c/service/a ", 2):             "named twice",
		good + strings.Repeat("weft://c/service/a ", 65):            "more than 64 services",
		"weft://c/role/r weft://c/name/" + strings.Repeat("a", 201): "allowed are 200",
	} {
		_, err := parseIdentity(names(t, text))
		mustContain(t, err, says)
	}
}

func TestAnAuthorityIsNoMember(t *testing.T) {
	if _, err := IdentityOf(newAuthority(t, "c").Bundle().Certificate); !errors.Is(err, ErrNoIdentity) {
		t.Error(err)
	}
}

// FuzzNames: what is accepted is within the limits, and is written as it was read.
func FuzzNames(f *testing.F) {
	f.Add("weft://c/name/n weft://c/role/r weft://c/service/kv/%2A weft://c/service/*")
	f.Add("weft://c/name/n weft://d/role/r")
	f.Add("weft:name weft://u:p@c/role%2Fr?q#f")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := parseIdentity(names(t, text))
		if err != nil {
			return
		}
		if id.Name == "" || id.Role == "" || id.Cluster == "" || len(id.Services) > MaxServices {
			t.Errorf("%+v", id)
		}
		var written []string
		for _, u := range id.uris() {
			written = append(written, u.String())
		}
		again, err := parseIdentity(names(t, strings.Join(written, " ")))
		if err != nil || !reflect.DeepEqual(again, id) {
			t.Errorf("%+v became %+v, %v", id, again, err)
		}
		for _, pattern := range id.Services {
			if !id.MayRegister(pattern) {
				t.Errorf("%q does not allow itself", pattern)
			}
		}
	})
}
