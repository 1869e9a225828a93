package main

import "github.com/weft-fabric/weft/verbs"

// hardware opens an RDMA device.
func hardware(name string) (*verbs.Device, error) {
	nic, err := ibvNIC(device{name: name, reasons: &lastReason{}})
	if err != nil {
		return nil, err
	}
	return verbs.Open(nic)
}

// usableHardware opens an RDMA device, that of a name, or the best; nil: this host has none.
func usableHardware(name string) func(string) (*verbs.Device, error) {
	name, _ = orEnvironment(name, "", "WEFT_DEVICE")
	if rdma, err := laneNamed("ibv"); err != nil || rdma.usable(name) != nil {
		return nil
	}
	return func(string) (*verbs.Device, error) { return hardware(name) }
}
