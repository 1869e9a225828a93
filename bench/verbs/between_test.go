package main

import (
	"fmt"
	"testing"

	"github.com/weft-fabric/weft/bench/pinned"
	"github.com/weft-fabric/weft/provider/soft"
)

// TestJobsBetweenProcesses runs every order as a contest does: two processes, on the lane and no other.
func TestJobsBetweenProcesses(t *testing.T) {
	if _, _, err := pinned.Cores(); err != nil {
		t.Skip(err)
	}
	for _, lane := range []soft.Lanes{soft.SharedMemory, soft.TCP} {
		for _, o := range few(lane) {
			t.Run(fmt.Sprintf("%v %s %d", lane, o.Near, o.Size), func(t *testing.T) {
				near, _, err := run(o)
				if err != nil {
					t.Fatal(err)
				}
				if o.Near != "allocations" && near.Took <= 0 {
					t.Errorf("it took %v", near.Took)
				}
			})
		}
	}
}

// TestAStoppedTargetIsWrittenTo needs a lane on which the target does nothing.
func TestAStoppedTargetIsWrittenTo(t *testing.T) {
	if _, _, err := pinned.Cores(); err != nil {
		t.Skip(err)
	}
	near, _, err := run(order{Lane: soft.SharedMemory, Near: "write one by one", Far: "be written to", Size: 8, Count: 1000, Stop: true})
	if err != nil || near.Took <= 0 {
		t.Errorf("%v, %v", near.Took, err)
	}
}
