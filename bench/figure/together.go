package figure

import (
	"fmt"
	"slices"
	"strings"
)

// kin are claims with the same reason, whose texts differ in one word: the same fact of several.
type kin struct {
	claims []Claim
	words  [][]string // of each claim's text
	at     int        // which word differs, if there are several claims
}

// together makes one claim of those that are kin, in the place of the first.
func together(claims []Claim) (all []Claim) {
	var found []*kin
	for _, c := range claims {
		words := strings.Fields(c.Text)
		if !slices.ContainsFunc(found, func(k *kin) bool { return k.take(c, words) }) {
			found = append(found, &kin{claims: []Claim{c}, words: [][]string{words}})
		}
	}
	for _, k := range found {
		all = append(all, k.claim())
	}
	return all
}

// take adds a claim, if it belongs to the others. Nobody knows whether what has no known reason does.
func (k *kin) take(c Claim, words []string) bool {
	if c.Why == "" || c.Why != k.claims[0].Why {
		return false
	}
	at, one := onlyDifference(k.words[0], words)
	if !one || len(k.claims) > 1 && at != k.at {
		return false
	}
	k.claims, k.words, k.at = append(k.claims, c), append(k.words, words), at
	return true
}

// onlyDifference is where two texts have different words, if that is one place only.
func onlyDifference(a, b []string) (at int, one bool) {
	if len(a) != len(b) {
		return 0, false
	}
	for i := range a {
		if a[i] != b[i] {
			if one {
				return 0, false
			}
			at, one = i, true
		}
	}
	return at, one
}

// claim is what all of them say: with one value if that is the same for all, and without spreads.
func (k *kin) claim() Claim {
	c := k.claims[0]
	if len(k.claims) == 1 {
		return c
	}
	var names, values []string
	same := true
	for i, other := range k.claims {
		name := strings.TrimRight(k.words[i][k.at], ",:")
		names, values = append(names, name), append(values, fmt.Sprintf("%s (%s)", other.Measured, name))
		same = same && other.Measured == c.Measured
	}
	words := slices.Clone(k.words[0])
	words[k.at] = strings.Join(names, ", ") + strings.TrimPrefix(words[k.at], names[0])
	c.Text, c.Spread = strings.Join(words, " "), ""
	if !same {
		c.Measured = strings.Join(values, ", ")
	}
	return c
}
