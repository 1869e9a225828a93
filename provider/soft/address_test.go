package soft

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

func TestAddressErrorsNameWhatIsWrong(t *testing.T) {
	const id = "0123456789abcdef"
	const place = id + "/" + id + "/" + id
	for text, want := range map[string]string{
		"":                                  "does not begin with",
		"sof:" + place + "/1#1":             "does not begin with",
		"soft:" + place + "/1":              "has no #epoch",
		"soft:" + id + "/1#1":               "has 2 parts",
		"soft:" + place + "/1/1#1":          "has 5 parts",
		"soft:1/" + id + "/" + id + "/1#1":  "host \"1\"",
		"soft:" + id + "/12/" + id + "/1#1": "process \"12\"",
		"soft:" + id + "/" + id + "/0123456789ABCDEF/1#1":                     "device \"0123456789ABCDEF\"",
		"soft:" + place + "/0#1":                                              "number \"0\"",
		"soft:" + place + "/01#1":                                             "number \"01\"",
		"soft:" + place + "/1#":                                               "epoch \"\"",
		"soft:" + place + "/1#+1":                                             "epoch \"+1\"",
		"soft:" + place + "/1#1#1":                                            "epoch \"1#1\"",
		"soft:" + place + "/1#4294967296":                                     "epoch \"4294967296\"",
		"soft:" + place + "/1#1+tcp=":                                         "names nothing",
		"soft:" + place + "/1#1+shm=x":                                        "user \"x\"",
		"soft:" + place + "/1#1+shm=":                                         "user \"\"",
		"soft:" + place + "/1#1+secret=":                                      "has a secret",
		"soft:" + place + "/1#1+secret=" + id:                                 "has a secret",
		"soft:" + place + "/1#1+secret=" + id + "0123456789ABCDEF":            "has a secret",
		"soft:" + place + "/1#1+secret=" + strings.Repeat("0", 32) + "+shm=0": "has a secret",
		strings.Repeat("x", 513):                                              "513 bytes",
	} {
		if _, err := parseAddress(driver.Address(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// TestAddressKeepsItsSecret: what people read, in errors and logs, does not tell the secret.
func TestAddressKeepsItsSecret(t *testing.T) {
	a := address{host: 5, process: 1, lifeName: lifeName{2, 3, 4}, secret: secret{0xab, 0xcd}, tcp: "[::1]:80"}
	if said := fmt.Sprintf("%v %+v %s", a, a, a.String()); strings.Contains(said, "abcd") {
		t.Error(said)
	}
	if !strings.Contains(a.text(), "+secret=abcd000") {
		t.Error(a.text())
	}
}

// FuzzAddress checks that an address has exactly one text.
func FuzzAddress(f *testing.F) {
	f.Add(address{host: 5, process: 1, lifeName: lifeName{2, 3, 4}, secret: secret{1, 2, 3}, shm: "0", tcp: "[::1]:80"}.text())
	f.Add(address{process: 1<<64 - 1, lifeName: lifeName{0, 1<<32 - 1, 1}, tcp: "unix:/a+tcp=b"}.text())
	f.Add("soft:0000000000000005/0000000000000001/0000000000000002/3#")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseAddress(driver.Address(text))
		if err == nil && a.text() != text {
			t.Errorf("%q was parsed as %q", text, a)
		}
	})
}
