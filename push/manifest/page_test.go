package manifest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func pair(seed byte) (*Signer, *Verifier) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	id := ID{seed}
	return NewSigner(id, key), NewVerifier(id, key.Public().(ed25519.PublicKey))
}

// sealed is all pages of a stream, and the hashes of its blocks.
func sealed(s *Signer, l Layout) (pages [][]byte, hashes []Hash) {
	for block := range l.Blocks() {
		hashes = append(hashes, Hash{byte(block), byte(block >> 8), 1})
	}
	for page := range l.Pages() {
		first, end := l.PageRange(page)
		pages = append(pages, s.Seal(l, page, hashes[first:end]))
	}
	return pages, hashes
}

// Blocks cover a stream without gaps, and pages cover the blocks.
func TestLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		block := 1 << rapid.IntRange(10, 24).Draw(t, "log of the block size")
		l := NewLayout(ContentStream, rapid.Uint64Range(0, uint64(block)*100).Draw(t, "size"), block)
		sum, next := uint64(0), 0
		for page := range l.Pages() {
			first, end := l.PageRange(page)
			if first != next || end <= first || end-first > l.PageBlocks {
				t.Fatalf("page %d has blocks %d to %d", page, first, end)
			}
			for b := first; b < end; b++ {
				if l.Page(b) != page || l.Offset(b) != sum {
					t.Fatalf("block %d is in page %d at %d", b, l.Page(b), l.Offset(b))
				}
				sum += uint64(l.Len(b))
			}
			next = end
		}
		wire := sum + uint64(l.Blocks()*l.Header())
		if sum != l.Size || next != l.Blocks() || l.WireSize() != wire || l.PageBlocks*block > max(maxPageBytes, block) {
			t.Fatalf("%+v: %d bytes in %d blocks, %d on the wire", l, sum, next, wire)
		}
	})
}

func TestNothingIsOneBlock(t *testing.T) {
	l := NewLayout(ManifestStream, 0, 1<<16)
	if l.Blocks() != 1 || l.Pages() != 1 || l.Len(0) != 0 || l.WireSize() != uint64(l.Header()) || l.Header() != 24+4*32+64 {
		t.Errorf("%+v: %d blocks, %d pages", l, l.Blocks(), l.Pages())
	}
}

// TestHeadersAreSmall: blocks on slow links, which are small, carry little beside their payload, and small blocks do not need a signature each.
func TestHeadersAreSmall(t *testing.T) {
	for block, want := range map[int]int{1 << 10: 16, 16 << 10: 16, 60 << 10: 4, 1 << 20: 4, 4 << 20: 4, 8 << 20: 2, 32 << 20: 1} {
		if l := NewLayout(ContentStream, 1<<40, block); l.PageBlocks != want {
			t.Errorf("blocks of %d: %d have a page in common, want %d", block, l.PageBlocks, want)
		}
	}
	if l := NewLayout(ContentStream, 1<<30, 60<<10); 250*l.Header() > l.Block {
		t.Errorf("a header of %d bytes for blocks of %d", l.Header(), l.Block)
	}
}

func TestPagesOpen(t *testing.T) {
	s, v := pair(1)
	l := NewLayout(ContentStream, 40<<16+5, 1<<16)
	pages, hashes := sealed(s, l)
	for block, want := range hashes {
		got, err := v.OpenPage(l, block, pages[l.Page(block)])
		first, _ := l.PageRange(l.Page(block))
		if err != nil || got[block-first] != want {
			t.Fatalf("block %d: %v", block, err)
		}
	}
	again, _ := sealed(s, l)
	if !bytes.Equal(again[2], pages[2]) {
		t.Error("the same page has other bytes")
	}
}

// No bit of a page can change, and it is good for nothing but what it was sealed for.
func TestForgedPages(t *testing.T) {
	s, v := pair(1)
	l := NewLayout(ContentStream, 20<<16, 1<<16)
	pages, _ := sealed(s, l)
	refuse := func(what string, v *Verifier, l Layout, block int, header []byte) {
		t.Helper()
		if _, err := v.OpenPage(l, block, header); !errors.Is(err, ErrPage) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range pages[1] {
		bad := bytes.Clone(pages[1])
		bad[i] ^= 0x40
		refuse("a changed byte", v, l, 16, bad)
	}
	_, stranger := pair(2)
	refuse("another push", stranger, l, 0, pages[0])
	refuse("another push with the same key", &Verifier{ID{9}, v.key}, l, 0, pages[0])
	refuse("another page", v, l, 0, pages[1])
	refuse("another stream", v, NewLayout(ManifestStream, l.Size, l.Block), 0, pages[0])
	refuse("another size", v, NewLayout(ContentStream, l.Size-1, l.Block), 0, pages[0])
	refuse("another block size", v, NewLayout(ContentStream, l.Size, l.Block/2), 0, pages[0])
	refuse("cut", v, l, 0, pages[0][:len(pages[0])-1])
	refuse("nothing", v, l, 0, nil)
	refuse("no such block", v, l, 20, pages[1])
	refuse("no such block", v, l, -1, pages[0])
}

func TestPagesTable(t *testing.T) {
	s, v := pair(1)
	l := NewLayout(ContentStream, 3000<<10, 1<<10)
	pages, hashes := sealed(s, l)
	table := NewPages(l, v)
	if _, ok := table.Hash(0); ok {
		t.Error("an empty table has a hash")
	}
	for block := len(hashes) - 1; block >= 0; block-- {
		got, err := table.Take(block, pages[l.Page(block)])
		kept, ok := table.Hash(block)
		if err != nil || got != hashes[block] || !ok || kept != got {
			t.Fatalf("block %d: %v", block, err)
		}
	}
	bad := bytes.Clone(pages[3])
	bad[100]++
	if _, err := table.Take(3*l.PageBlocks, bad); !errors.Is(err, ErrPage) {
		t.Errorf("a changed page is taken when the right one is known: %v", err)
	}
	if header, ok := table.Header(3 * l.PageBlocks); !ok || !bytes.Equal(header, pages[3]) {
		t.Error("a changed page has changed what is known")
	}
	if _, ok := table.Header(len(hashes)); ok {
		t.Error("there is a header beyond the last block")
	}
}

// The pusher must not say two things of one block.
func TestTwoPagesOfOneNumber(t *testing.T) {
	s, v := pair(1)
	l := NewLayout(ContentStream, 1, 1<<10)
	table := NewPages(l, v)
	if _, err := table.Take(0, s.Seal(l, 0, []Hash{{1}})); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Take(0, s.Seal(l, 0, []Hash{{2}})); !errors.Is(err, ErrPage) {
		t.Errorf("a second page is taken: %v", err)
	}
}

func TestHotPathAllocatesNothing(t *testing.T) {
	s, v := pair(1)
	l := NewLayout(ContentStream, 1<<20, 64<<10)
	pages, _ := sealed(s, l)
	table, payload := NewPages(l, v), make([]byte, 64<<10)
	if _, err := table.Take(0, pages[0]); err != nil {
		t.Fatal(err)
	}
	n := testing.AllocsPerRun(20, func() {
		if h, err := table.Take(1, pages[0]); err != nil || h == HashOf(payload) {
			t.Error(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations for a block", n)
	}
}

func TestClosing(t *testing.T) {
	s, v := pair(1)
	want := Closing{Hash{1}, Hash{2}, 3, 4}
	record := s.SealClosing(want)
	if got, err := v.OpenClosing(record); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for i := range record {
		bad := bytes.Clone(record)
		bad[i] ^= 1
		if _, err := v.OpenClosing(bad); !errors.Is(err, ErrClosing) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	_, stranger := pair(2)
	if _, err := stranger.OpenClosing(record); !errors.Is(err, ErrClosing) {
		t.Error(err)
	}
	if _, err := v.OpenClosing(s.seal(domainClosing, []byte("wcl1"))); !errors.Is(err, ErrClosing) {
		t.Errorf("a short record: %v", err)
	}
}

// The root depends on all that goes into it.
func TestRoot(t *testing.T) {
	root := func(manifest Hash, block int, hashes ...Hash) Hash {
		r := NewRoot(manifest, NewLayout(ContentStream, 2, block))
		for _, h := range hashes {
			r.Add(h)
		}
		return r.Sum()
	}
	seen := map[Hash]bool{
		root(Hash{1}, 1, Hash{1}, Hash{2}): true, root(Hash{1}, 1, Hash{2}, Hash{1}): true, root(Hash{1}, 1, Hash{1}): true,
		root(Hash{1}, 2, Hash{1}, Hash{2}): true, root(Hash{2}, 1, Hash{1}, Hash{2}): true, root(Hash{1}, 1): true,
	}
	if len(seen) != 6 || !seen[root(Hash{1}, 1, Hash{1}, Hash{2})] {
		t.Errorf("%d roots of six", len(seen))
	}
}

func TestCertify(t *testing.T) {
	_, edKey, _ := ed25519.GenerateKey(rand.Reader)
	ecKey, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	rsaKey, _ := rsa.GenerateKey(rand.Reader, 2048)
	key := make(ed25519.PublicKey, ed25519.PublicKeySize)
	for _, owner := range []crypto.Signer{edKey, ecKey, rsaKey} {
		signature, err := Certify(ID{1}, key, owner, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckCertified(ID{1}, key, owner.Public(), signature); err != nil {
			t.Error(err)
		}
		other := bytes.Clone(key)
		other[3]++
		signature2 := bytes.Clone(signature)
		signature2[len(signature2)-1]++
		for what, err := range map[string]error{
			"another push":      CheckCertified(ID{2}, key, owner.Public(), signature),
			"another key":       CheckCertified(ID{1}, other, owner.Public(), signature),
			"another signature": CheckCertified(ID{1}, key, owner.Public(), signature2),
			"no signature":      CheckCertified(ID{1}, key, owner.Public(), nil),
			"no owner":          CheckCertified(ID{1}, key, nil, signature),
			"a strange owner":   CheckCertified(ID{1}, key, 5, signature),
		} {
			if !errors.Is(err, ErrCertified) {
				t.Errorf("%T, %s: %v", owner, what, err)
			}
		}
	}
}

func TestText(t *testing.T) {
	type both struct {
		ID   ID
		Hash Hash
		Tops Names
	}
	want := both{ID{1, 0xab}, Hash{0xff}, Names{"a", "\xff\xfe"}}
	text, err := json.Marshal(want)
	if err != nil || !bytes.Contains(text, []byte(want.ID.String())) {
		t.Fatalf("%s, %v", text, err)
	}
	var got both
	if err := json.Unmarshal(text, &got); err != nil || got.ID != want.ID || got.Hash != want.Hash || got.Tops[1] != want.Tops[1] {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{`""`, `"00"`, `"zz00000000000000000000000000000000"`, `5`, `"0100000000000000000000000000000g"`} {
		if err := json.Unmarshal([]byte(bad), &got.ID); err == nil {
			t.Errorf("%s is an ID", bad)
		}
	}
}
