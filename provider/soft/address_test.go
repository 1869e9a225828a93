package soft

import (
	"strings"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

func TestAddressErrorsNameWhatIsWrong(t *testing.T) {
	const id = "0123456789abcdef"
	for text, want := range map[string]string{
		"":                                                "does not begin with",
		"sof:" + id + "/" + id + "/1#1":                   "does not begin with",
		"soft:" + id + "/" + id + "/1":                    "has no #epoch",
		"soft:" + id + "/1#1":                             "has 2 parts",
		"soft:" + id + "/" + id + "/1/1#1":                "has 4 parts",
		"soft:123/" + id + "/1#1":                         "process \"123\"",
		"soft:" + id + "/0123456789ABCDEF/1#1":            "device \"0123456789ABCDEF\"",
		"soft:" + id + "/" + id + "/0#1":                  "number \"0\"",
		"soft:" + id + "/" + id + "/01#1":                 "number \"01\"",
		"soft:" + id + "/" + id + "/1#":                   "epoch \"\"",
		"soft:" + id + "/" + id + "/1#+1":                 "epoch \"+1\"",
		"soft:" + id + "/" + id + "/1#1#1":                "epoch \"1#1\"",
		"soft:" + id + "/" + id + "/1#4294967296":         "epoch \"4294967296\"",
		"soft:" + id + "/" + id + "/1#1+tcp=":             "names nothing",
		"soft:" + id + "/" + id + "/1#1+shm=1,1":          "host \"1\"",
		"soft:" + id + "/" + id + "/1#1+shm=" + id + ",x": "user \"x\"",
		strings.Repeat("x", 513):                          "513 bytes",
	} {
		if _, err := parseAddress(driver.Address(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// FuzzAddress checks that an address has exactly one text.
func FuzzAddress(f *testing.F) {
	f.Add(address{process: 1, lifeName: lifeName{2, 3, 4}, shm: hostUser{5, 0}, tcp: "[::1]:80"}.String())
	f.Add(address{process: 1<<64 - 1, lifeName: lifeName{0, 1<<32 - 1, 1}, tcp: "unix:/a+tcp=b"}.String())
	f.Add("soft:0000000000000001/0000000000000002/3#")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseAddress(driver.Address(text))
		if err == nil && a.String() != text {
			t.Errorf("%q was parsed as %q", text, a)
		}
	})
}
