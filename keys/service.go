package keys

import (
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/internal/printable"
)

// everything is the pattern of all services.
const everything = "*"

// MayRegister reports whether one of the identity's patterns allows a service's name: the name itself, "kv/*" for all
// below kv (kv/3 and kv/a/b, neither kv nor kv/), or "*" for all there are.
func (i Identity) MayRegister(name string) bool {
	if name == "" || printable.Check("", name, MaxServiceName) != nil {
		return false
	}
	for _, pattern := range i.Services {
		if allows(pattern, name) {
			return true
		}
	}
	return false
}

func allows(pattern, name string) bool {
	if pattern == everything {
		return true
	}
	if above, ok := strings.CutSuffix(pattern, everything); ok {
		return strings.HasPrefix(name, above) && len(name) > len(above)
	}
	return pattern == name
}

// checkPattern has a star stand alone, or for the whole last part of a name: what it allows is seen at a glance.
func checkPattern(pattern string) error {
	if pattern == "" {
		return fmt.Errorf("a service has an empty name")
	}
	if err := printable.Check("service", pattern, MaxServiceName); err != nil {
		return err
	}
	prefix, star := strings.CutSuffix(pattern, everything)
	if strings.Contains(prefix, everything) || star && prefix != "" && (prefix == "/" || !strings.HasSuffix(prefix, "/")) {
		return fmt.Errorf("service %q: a * stands alone, or at the end behind a slash, as in kv/*", pattern)
	}
	return nil
}
