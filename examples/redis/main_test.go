package main

import (
	"testing"

	"github.com/weft-fabric/weft/examples/here/heretest"
)

func TestMain(m *testing.M) { heretest.Main(m, main) }

func TestAStoreIsUsedByTheNameOfAService(t *testing.T) {
	heretest.Serve(t, "serve")
	heretest.Ask(t, "", "set", "color", "blue")
	heretest.Ask(t, "blue\n", "get", "color")
}
