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

// String is the miss in one line, with its reason.
func (m Miss) String() string { return m.Figure + ": " + m.Text + " – " + m.outcome() }

// outcome is what was measured, with the reason behind it if the claim does not hold.
func (c Claim) outcome() string {
	if reason := c.Reason(); reason != "" {
		return c.Found() + ". Why: " + reason
	}
	return c.Found()
}

// Misses are the claims that do not hold, in the order of the figures. What has the same reason and differs in one word only
// is told together.
func Misses(figures []*Figure) (all []Miss) {
	names := unique{}
	for _, f := range figures {
		name := names.next(f.Name)
		for _, c := range together(f.missed()) {
			all = append(all, Miss{c, name})
		}
	}
	return all
}

// missed are the claims of a figure that do not hold.
func (f *Figure) missed() (all []Claim) {
	for _, c := range f.Claims {
		if !c.Holds {
			all = append(all, c)
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
	claims, missed := 0, 0
	for _, f := range figures {
		claims += len(f.Claims)
		missed += len(f.missed())
	}
	switch {
	case claims == 0:
		return ""
	case missed == 0:
		return fmt.Sprintf("All %d claims hold: nothing was missed.", claims)
	}
	return fmt.Sprintf("%d of %d claims hold.", claims-missed, claims)
}
