package ripc

import (
	"bytes"
	"testing"
)

// FuzzDecodeHello: whatever a peer says, it is an error or a hello, which is said again in the same bytes.
func FuzzDecodeHello(f *testing.F) {
	h := hello{salt: newSalt(), provider: "soft"}
	h.terms.Limit, h.terms.Credit = 4096, 2
	good := h.append(nil)
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(append(good, 0))
	f.Add([]byte{helloVersion})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHello(b)
		if err != nil {
			return
		}
		if again := h.append(nil); !bytes.Equal(again, b) {
			t.Errorf("%x was understood as %x", b, again)
		}
		if len(h.provider) > maxProvider {
			t.Errorf("a provider of %d bytes", len(h.provider))
		}
	})
}
