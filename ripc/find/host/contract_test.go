package host

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/findtest"
)

func TestContract(t *testing.T) {
	base := t.TempDir()
	findtest.Run(t, func(t *testing.T) find.Resolver {
		dir := filepath.Join(base, filepath.Base(t.Name()))
		r, err := Open(Config{Dir: dir, Lease: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		return r
	})
}
