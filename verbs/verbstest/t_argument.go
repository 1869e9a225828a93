package verbstest

import (
	"github.com/weft-fabric/weft/verbs"
)

// This file is about calls that are wrong.

var argumentTests = []Test{
	{"BadArgumentsAreNamed", "A bad argument is an error of the documented kind, and no panic.", 0, testBadArguments},
}

// A bad argument is an error of the documented kind, and no panic. Nothing of it reaches the NIC: the queue pair goes on
// working.
func testBadArguments(t *T) {
	w := t.wire()
	for _, complaint := range w.a.do(BadArguments{w.qa.id}).Text {
		t.Errorf("%s", complaint)
	}
	w.qa.node.take(w.qa.number, Controls, verbs.ControlRoom)
	w.carries(1)
}
