package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
)

// names are the names in one directory, sorted, all in one piece of memory: there may be a million of them.
type names struct {
	text []byte
	at   []span
}

type span struct {
	start  uint32
	length uint16
}

// maxNames is how many bytes all names in one directory may have: they are sorted in memory.
const maxNames = 128 << 20

var errTooMany = fmt.Errorf("its names have more than %d MiB together: spread them over several directories", maxNames>>20)

// readNames reads a directory. It leaves the file open.
func readNames(directory *os.File) (*names, error) {
	n := new(names)
	for {
		some, err := directory.Readdirnames(1024)
		for _, name := range some {
			n.at = append(n.at, span{uint32(len(n.text)), uint16(len(name))})
			n.text = append(n.text, name...)
		}
		if len(n.text) > maxNames {
			return nil, errTooMany
		}
		if errors.Is(err, io.EOF) {
			sort.Sort(n)
			return n, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (n *names) bytes(i int) []byte {
	s := n.at[i]
	return n.text[s.start:][:s.length]
}

func (n *names) name(i int) string  { return string(n.bytes(i)) }
func (n *names) Len() int           { return len(n.at) }
func (n *names) Less(i, j int) bool { return bytes.Compare(n.bytes(i), n.bytes(j)) < 0 }
func (n *names) Swap(i, j int)      { n.at[i], n.at[j] = n.at[j], n.at[i] }
