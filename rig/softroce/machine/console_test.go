package machine

import "testing"

func TestComplaints(t *testing.T) {
	for text, want := range map[string]string{
		"boot\r\nguest: ready\r\n":        "",
		"boot\r\nguest: ready\r\nBUG\r\n": "BUG",
		"boot\r\npan":                     "boot\npan",
		"guest: ready\n[1] d0 speed is unknown, defaulting to 1\nx":  "x",
		"guest: ready\n[ 9.1] hrtimer: interrupt took 51670069 ns\n": "",
		"guest: ready\n[2] rxe9: gone\n[3] rxe0: gone\n":             "[3] rxe0: gone",
	} {
		c := console{expected: []string{"rxe9: gone"}}
		c.Write([]byte(text))
		if got := c.complaints(); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

// TestHarmlessLinesPushNothingOut has many of them behind one that counts.
func TestHarmlessLinesPushNothingOut(t *testing.T) {
	var c console
	c.Write([]byte("BUG\n"))
	for range maxConsole {
		c.Write([]byte("d0 speed is unknown, defaulting to 1000\n"))
	}
	if got := c.complaints(); got != "BUG" {
		t.Errorf("%.40q", got)
	}
}

func FuzzConsole(f *testing.F) {
	f.Add("a\r\nguest: ready\r\nb", 3)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		cut = max(0, min(cut, len(text)))
		var whole, pieces console
		whole.Write([]byte(text))
		pieces.Write([]byte(text[:cut]))
		pieces.Write([]byte(text[cut:]))
		if whole.complaints() != pieces.complaints() && len(text) < maxConsole {
			t.Errorf("%q, not %q", pieces.complaints(), whole.complaints())
		}
		if n := len(whole.complaints()); n > 2*maxConsole {
			t.Errorf("%d bytes are kept", n)
		}
	})
}
