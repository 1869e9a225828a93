package figure

import (
	"fmt"
	"strings"
)

// Miss is a claim that does not hold.
type Miss struct {
	Claim
	Figure string // its name, with a number behind it if another has the same
}

// String is the miss in one line, with its reason if that is known.
func (m Miss) String() string { return m.Figure + ": " + m.Text + " – " + m.outcome() }

// outcome is what was measured, with the reason behind it if the claim does not hold.
func (c Claim) outcome() string {
	if reason := c.Reason(); reason != "" {
		return c.Measured + ". Why: " + reason
	}
	return c.Measured
}

// Misses are the claims that do not hold, in the order of the figures.
func Misses(figures []*Figure) (all []Miss) {
	names := unique{}
	for _, f := range figures {
		name := names.next(f.Name)
		for _, c := range f.Claims {
			if !c.Holds {
				all = append(all, Miss{c, name})
			}
		}
	}
	return all
}

// Verdict is an error that names the figures of which a claim does not hold.
func Verdict(figures []*Figure) error {
	var broken []string
	for _, f := range figures {
		if !f.Holds() {
			broken = append(broken, f.Name)
		}
	}
	if len(broken) > 0 {
		return fmt.Errorf("not all claims hold: see %s", strings.Join(broken, ", "))
	}
	return nil
}

// Summary says how many claims hold, in a sentence.
func Summary(figures []*Figure) string {
	claims, missed := 0, len(Misses(figures))
	for _, f := range figures {
		claims += len(f.Claims)
	}
	switch {
	case claims == 0:
		return ""
	case missed == 0:
		return fmt.Sprintf("All %d claims hold: nothing was missed.", claims)
	}
	return fmt.Sprintf("%d of %d claims hold.", claims-missed, claims)
}
