package main

import (
	"testing"

	"github.com/weft-fabric/weft/examples/here/heretest"
)

func TestMain(m *testing.M) { heretest.Main(m, main) }

func TestAServerIsAskedByTheNameOfAService(t *testing.T) {
	heretest.Serve(t, "serve")
	heretest.Ask(t, "SERVING\n", "check")
}
