package hook

import (
	"fmt"

	"github.com/weft-fabric/weft/verbs/driver"
)

// How many operations and statuses there are.
const (
	opCount     = int(driver.OpCount)
	statusCount = int(driver.StatusCount)
)

// opIndex and statusIndex keep an index inside its array whatever a broken provider reports: an unknown operation
// counts as OpNone, an unknown status as the last one.
func opIndex(op driver.Op) int {
	if int(op) >= opCount {
		return int(driver.OpNone)
	}
	return int(op)
}

func statusIndex(status driver.Status) int { return min(int(status), statusCount-1) }

func opName(i int) string { return driver.Op(i).String() }

func statusName(i int) string { return driver.Status(i).String() }

func nameOf(names []string, i int, kind string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}
