package push_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/weft-fabric/weft/push"
)

// A directory is one also when a single file is in it: that file goes into DEST, and never in its place.
func TestContentsThatAreOneFile(t *testing.T) {
	c := newCluster(t, 1)
	dir, data, old := t.TempDir(), content(1000), content(500)
	write(t, filepath.Join(dir, "f"), data)
	c.run(c.config("site", dir+"/"), push.ExitOK)
	c.check("site/f", data, c.agents...)

	write(t, filepath.Join(c.agents[0].root, "other"), old)
	over := c.config("other", dir+"/")
	over.Force = true
	c.run(over, push.ExitPreflight)
	c.check("other", old, c.agents...)

	expected := c.config("expected", dir+"/")
	expected.Expect = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if _, err := push.Run(t.Context(), expected); !errors.Is(err, push.ErrUsage) {
		t.Errorf("the hash of a directory is expected: %v", err)
	}
}
