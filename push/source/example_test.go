package source_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"os"

	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/source"
)

func Example() {
	directory, _ := os.MkdirTemp("", "weft-example-")
	defer os.RemoveAll(directory)
	_ = os.WriteFile(directory+"/greeting", []byte("hello"), 0o644)

	s, err := source.Scan(context.Background(), source.Config{Paths: []string{directory + "/"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	layout := manifest.NewLayout(manifest.ContentStream, s.Summary().Content, 64<<10)
	signer := manifest.NewSigner(manifest.ID{1}, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	hasher := source.NewHasher(s, signer, layout)
	block := make([]byte, layout.Header()+layout.Len(0))
	if _, err := hasher.Fill(0, [][]byte{block}); err != nil {
		fmt.Println(err)
		return
	}
	_, complete := hasher.Root()
	fmt.Printf("%s, all known: %v\n", block[layout.Header():], complete)
	// Output: hello, all known: true
}
