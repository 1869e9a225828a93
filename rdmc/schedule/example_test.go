package schedule_test

import (
	"fmt"
	"os"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// One member computes its own part, and nothing else.
func ExampleNew() {
	part, err := schedule.New(schedule.Config{Algorithm: schedule.Pipeline, Members: 5}, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan := part.Plan(2)
	for step := range plan.Steps() {
		if in, ok := plan.Receive(step); ok {
			fmt.Printf("step %d: block %d from %d\n", step, in.Block, in.Peer)
		}
		if out, ok := plan.Send(step); ok {
			fmt.Printf("step %d: block %d to %d\n", step, out.Block, out.Peer)
		}
	}
	// Output:
	// step 1: block 0 from 1
	// step 2: block 1 from 2
	// step 2: block 0 to 2
}

func ExampleWrite() {
	config := schedule.Config{Algorithm: schedule.RackPipeline, Members: 6, Racks: []int{0, 0, 0, 1, 1, 1}}
	if err := schedule.Write(os.Stdout, config, 2); err != nil {
		fmt.Println(err)
	}
	// Output:
	// rack-pipeline: 6 members, 2 blocks, 6 steps (from→to:block)
	//    0  0→3:0
	//    1  0→1:0  3→4:0
	//    2  0→3:1
	//    3  0→2:1  3→5:1
	//    4
	//    5  1→2:0  2→1:1  4→5:0  5→4:1
}
