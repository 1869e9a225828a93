package mesh_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/weft-fabric/weft/connect/mesh"
)

// Three members meet, here in one process, and tell each other a word.
func Example() {
	dir, err := os.MkdirTemp("", "mesh")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	words := []string{"warp", "weft", "loom"}
	var members []string
	for _, word := range words {
		members = append(members, "unix:"+filepath.Join(dir, word))
	}
	heard := make([]string, len(words))
	var all sync.WaitGroup
	for self, word := range words {
		all.Add(1)
		go func() {
			defer all.Done()
			heard[self] = tell(mesh.Config{Self: self, Members: members}, word)
		}()
	}
	all.Wait()
	for _, line := range heard {
		fmt.Println(line)
	}
	// Output:
	// member 0 hears weft and loom
	// member 1 hears warp and loom
	// member 2 hears warp and weft
}

// tell is what each process does.
func tell(config mesh.Config, word string) string {
	ctx := context.Background()
	m, err := mesh.Join(ctx, config)
	if err != nil {
		return err.Error()
	}
	defer m.Close()
	theirs, err := m.Exchange(ctx, "words", [][]byte{[]byte(word), []byte(word), []byte(word)})
	if err != nil {
		return err.Error()
	}
	others := [][]int{{1, 2}, {0, 2}, {0, 1}}[m.Self()]
	return fmt.Sprintf("member %d hears %s and %s", m.Self(), theirs[others[0]], theirs[others[1]])
}
