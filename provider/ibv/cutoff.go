package ibv

import (
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/provider/ibv/devices"
	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// requestStatus says how a request ended. A software device that cannot send, because its port is down or its address was taken away, says
// that it could not carry the request out, as it does if a request is bad.
func (q *queuePair) requestStatus(s native.WCStatus) driver.Status {
	if s == native.LocalOperation && q.isCutOff() {
		return driver.RetryExceeded
	}
	return statusOf(s)
}

func (q *queuePair) isCutOff() bool {
	d := q.queue.device
	port, err := d.context.Port(q.port())
	return err != nil || !port.Active || q.from.Kind == devices.KindRoCEv2 && !d.has(q.from)
}

// has reports whether a GID is still where it was in the port's table.
func (d *Device) has(g devices.GID) bool {
	text, err := os.ReadFile("/sys/class/infiniband/" + d.choice.Device.Name + "/ports/" + strconv.Itoa(d.choice.Port.Number) + "/gids/" + strconv.Itoa(g.Index))
	if err != nil {
		return false
	}
	now, err := netip.ParseAddr(strings.TrimSpace(string(text)))
	return err == nil && now.As16() == g.Raw
}
