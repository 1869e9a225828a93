// Package leaktest makes a test binary fail when it leaves goroutines running or objects open. A package that starts
// goroutines or closes things uses it once:
//
//	func TestMain(m *testing.M) { leaktest.Main(m) }
package leaktest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/internal/leak"
)

// Main runs the tests of m and exits. If they passed but something leaked, it names it on standard error and exits 1.
func Main(m *testing.M, options ...goleak.Option) {
	leak.Enable()
	code := m.Run()
	if code == 0 {
		code = report(os.Stderr, errors.Join(goleak.Find(options...), leak.Check()))
	}
	os.Exit(code)
}

// report prints what leaked, if anything, and returns the exit status it deserves.
func report(w io.Writer, leaked error) int {
	if leaked == nil {
		return 0
	}
	fmt.Fprintf(w, "leaktest: the tests passed, but left something behind: %v\n", leaked)
	return 1
}
