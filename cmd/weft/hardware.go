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
