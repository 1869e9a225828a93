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
		if err := writeTable(&out, key{9}, t); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes(), uint8(blocks))
	}
	f.Add([]byte(cacheMagic), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, blocks uint8) {
		read, err := readTable(bytes.NewReader(data), key{9}, int(blocks))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := writeTable(&out, key{9}, read); err != nil || !bytes.Equal(out.Bytes(), data) {
			t.Errorf("%d bytes were taken that nobody writes: %v", len(data), err)
		}
		if read.count > int(blocks) {
			t.Errorf("%d of %d blocks are known", read.count, blocks)
		}
	})
}
