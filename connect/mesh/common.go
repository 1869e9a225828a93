package mesh

import (
	"slices"
	"strings"

	"github.com/weft-fabric/weft/connect"
)

// usable are the providers that this member can use with all others, in the order of its session with the first.
func (m *Mesh) usable() []string {
	var words []string
	first := true
	for _, s := range m.sessions {
		if s == nil {
			continue
		}
		theirs := offered(s)
		if first {
			words, first = theirs, false
		}
		words = both(words, theirs)
	}
	return words
}

// offered are the providers that both ends of a session have.
func offered(s *connect.Session) []string {
	var words []string
	for _, offer := range append([]connect.Offer{s.Agreed()}, s.Others()...) {
		if offer.Provider != "" {
			words = append(words, offer.Provider)
		}
	}
	return words
}

// both keeps the words of a that stand in b too.
func both(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(word string) bool { return !slices.Contains(b, word) })
}

// separator stands between words: package connect has seen to it that they are printable.
const separator = "\n"

func encodeWords(words []string) []byte { return []byte(strings.Join(words, separator)) }

func decodeWords(note []byte) []string {
	if len(note) == 0 {
		return nil
	}
	return strings.Split(string(note), separator)
}
