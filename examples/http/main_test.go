package main

import (
	"testing"

	"github.com/weft-fabric/weft/examples/here/heretest"
)

func TestMain(m *testing.M) { heretest.Main(m, main) }

func TestAPageIsFetchedByTheNameOfAService(t *testing.T) {
	heretest.Serve(t, "serve")
	for range 2 {
		heretest.Ask(t, "hello, you\n", "get", "http://hello/you")
	}
}
