package waiting

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// One sample of the real program at every place that this machine has: its words are those that this package reads.
func TestRealSamples(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds weft")
	}
	weft := filepath.Join(t.TempDir(), "weft")
	if said, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", weft, "../../cmd/weft").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	all, missing := places(t.Context(), weft)
	if missing != nil {
		t.Log(missing)
	}
	for _, p := range all {
		for _, chains := range []bool{false, true} {
			got, err := p.measure(t.Context(), setting{algorithm: "chain", size: small, wait: sleeping, chains: chains})
			if err != nil || got.rate <= 0 || got.perGB <= 0 || got.cores <= 0 {
				t.Errorf("%s, chains %t: %+v, %v", p.name, chains, got, err)
			}
		}
	}
	if err := closeAll(all); err != nil {
		t.Error(err)
	}
}
