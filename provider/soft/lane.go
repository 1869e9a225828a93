package soft

import (
	"fmt"

	"github.com/weft-fabric/weft/verbs/driver"
)

// address returns what peers need to reach a life, by whatever lane.
func (d *Device) address(l *life) address {
	a := d.place()
	a.lifeName = lifeName{d.identity, l.number, l.epoch}
	if a.tcp != "" {
		a.secret = l.secret
	}
	return a
}

// place is what the addresses of all lives have in common.
func (d *Device) place() address {
	a := address{host: process.host, process: process.identity, tcp: d.dialled}
	if d.config.Lanes.has(SharedMemory) {
		a.shm = process.user
	}
	return a
}

// lanesTo returns the lanes by which this device can reach a queue pair: InProcess, or those to be tried, best first.
func (d *Device) lanesTo(a address) (Lanes, error) {
	mine := d.config.Lanes
	if a.device == d.identity || mine.has(InProcess) && a.process == process.identity && isInProcess(a.device) {
		return InProcess, nil
	}
	var lanes Lanes
	if mine.has(SharedMemory) && a.host == process.host && a.shm == process.user {
		lanes |= SharedMemory
	}
	if mine.has(TCP) && a.tcp != "" {
		lanes |= TCP
	}
	switch {
	case lanes == 0:
		return 0, fmt.Errorf("soft: connect to %v: no lane leads there: device %s has %v, and the peer offers %s: %w", a,
			d.config.Name, mine, a.offers(), driver.ErrArgument)
	case lanes == TCP && d.place().isApart(a):
		return 0, fmt.Errorf("soft: connect to %v: neither end can be dialled from the other's host: device %s listens on %s, and the peer "+
			"on %s: one of them must listen on an address of its host that leads there: %w", a, d.config.Name, d.dialled, a.tcp, driver.ErrArgument)
	}
	return lanes, nil
}

// isInProcess reports whether a device of this process can be reached without leaving it. One that is gone could have
// been: whoever connects to it finds nobody.
func isInProcess(id identity) bool {
	process.mu.RLock()
	defer process.mu.RUnlock()
	d := process.devices[id]
	return d == nil || d.config.Lanes.has(InProcess)
}

// offers says by which lanes a can be reached from here, for people.
func (a address) offers() string {
	var shm string
	if a.shm != "" {
		shm = fmt.Sprintf("shm to user %s of host %v", a.shm, a.host)
	}
	switch {
	case shm != "" && a.tcp != "":
		return shm + ", and tcp"
	case shm != "":
		return fmt.Sprintf("%s (this is user %s of host %v)", shm, process.user, process.host)
	case a.tcp != "":
		return "tcp"
	}
	return "only its own process"
}
