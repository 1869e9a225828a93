package main

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"

	"github.com/weft-fabric/weft/provider/ibv/devices"
)

// priorities counts for how many of the eight priorities of an interface something is on; negative: nobody tells.
type priorities int

const notTold priorities = -1

func (p priorities) String() string {
	switch p {
	case notTold:
		return "unknown, as its driver does not tell"
	case 0:
		return "off"
	}
	return fmt.Sprintf("on for %d of 8 priorities", int(p))
}

// examineLoss says what is known about packets that are lost when the network is full. RoCE goes on, but slowly.
func (v rdmaView) examineLoss() finding {
	const name = "PFC and ECN"
	link := v.choice.GIDs[0].Link
	switch {
	case v.choice.Port.LinkLayer == devices.InfiniBand:
		return good(name, "not needed: InfiniBand does not lose packets")
	case v.choice.Device.Driver == "rxe":
		return good(name, "not for Soft-RoCE: its packets are the kernel's UDP")
	}
	flow, marks := v.flow(link), v.marks(link)
	f := good(name, "on %s PFC is %v; ECN is %v; what the switches have cannot be seen from here", link, flow, marks)
	if flow == 0 && marks == 0 {
		return f.but(warning, fmt.Sprintf("a full network will lose packets: switch one of them on, on both hosts and all switches between "+
			"(such as dcb pfc set dev %s prio-pfc 3:on)", link))
	}
	return f
}

// systemFlow asks the kernel for priority flow control.
func systemFlow(link string) priorities {
	on, err := devices.FlowControl(link)
	if err != nil {
		return notTold
	}
	return priorities(bits.OnesCount8(on))
}

// marks counts the priorities that react to marks of congestion. Only NVIDIA's own driver package tells.
func (v rdmaView) marks(link string) (on priorities) {
	for priority := range 8 {
		b, err := os.ReadFile(filepath.Join(v.sys, "class/net", link, "ecn/roce_rp/enable", fmt.Sprint(priority)))
		if err != nil {
			return notTold
		}
		if len(b) > 0 && b[0] == '1' {
			on++
		}
	}
	return on
}
