package source

import (
	"bytes"
	"testing"

	"github.com/weft-fabric/weft/push/manifest"
)

// FuzzCacheFile reads anything: what is taken must be exactly what would be written.
func FuzzCacheFile(f *testing.F) {
	for _, blocks := range []int{1, 7, 8, 30} {
		t := newTable(blocks)
		for b := 0; b < blocks; b += 3 {
			t.learn(b, manifest.Hash{byte(b), 1})
		}
		var out bytes.Buffer
		if err := writeTable(&out, key{[32]byte{9}, 4096}, t); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes(), uint8(blocks))
	}
	f.Add([]byte(cacheMagic), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, blocks uint8) {
		read, err := readTable(bytes.NewReader(data), key{[32]byte{9}, 4096}, int(blocks))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := writeTable(&out, key{[32]byte{9}, 4096}, read); err != nil || !bytes.Equal(out.Bytes(), data) {
			t.Errorf("%d bytes were taken that nobody writes: %v", len(data), err)
		}
		if read.count > int(blocks) {
			t.Errorf("%d of %d blocks are known", read.count, blocks)
		}
	})
}

// TestBitsBehindTheEnd: a file that is whole may still say nonsense.
func TestBitsBehindTheEnd(t *testing.T) {
	liar := newTable(3)
	liar.bits[0] |= 1 << 5
	var out bytes.Buffer
	if err := writeTable(&out, key{[32]byte{9}, 4096}, liar); err != nil {
		t.Fatal(err)
	}
	if _, err := readTable(&out, key{[32]byte{9}, 4096}, 3); err == nil {
		t.Error("a hash of a block that is not there was taken")
	}
}
