package agent

import (
	"slices"
	"strings"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
)

// serviceNames are the services that an agent has: the one it was told, or those of its kind that its certificate lists by name. A host may
// be known by several.
func serviceNames(name string, own keys.Identity) (names []string) {
	if name != "" {
		return []string{control.Service(name)}
	}
	for _, pattern := range own.Services {
		if strings.HasPrefix(pattern, control.Service("")) && !strings.HasSuffix(pattern, "*") {
			names = append(names, pattern)
		}
	}
	if len(names) == 0 {
		names = []string{control.Service(own.Name)}
	}
	slices.Sort(names)
	return names
}
