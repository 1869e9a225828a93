package soft

import (
	"fmt"

	"github.com/weft-fabric/weft/verbs/driver"
)

// address returns what peers need to reach a life, by whatever lane.
func (d *Device) address(l *life) address {
	a := address{process: process.identity, lifeName: lifeName{d.identity, l.number, l.epoch}}
	if d.config.Lanes.has(SharedMemory) {
		a.shm = process.hostUser
	}
	if d.config.Lanes.has(TCP) {
		a.tcp = d.dialled
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
	if mine.has(SharedMemory) && a.shm == process.hostUser {
		lanes |= SharedMemory
	}
	if mine.has(TCP) && a.tcp != "" {
		lanes |= TCP
	}
	if lanes == 0 {
		return 0, fmt.Errorf("soft: connect to %v: no lane leads there: device %s has %v, and the peer offers %s: %w", a,
			d.config.Name, mine, a.offers(), driver.ErrArgument)
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
	switch {
	case a.shm != (hostUser{}) && a.tcp != "":
		return fmt.Sprintf("shm to user %d of host %v, and tcp", a.shm.user, a.shm.host)
	case a.shm != (hostUser{}):
		return fmt.Sprintf("shm to user %d of host %v (this is user %d of host %v)", a.shm.user, a.shm.host,
			process.hostUser.user, process.hostUser.host)
	case a.tcp != "":
		return "tcp"
	}
	return "only its own process"
}
