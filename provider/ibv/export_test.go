package ibv

import "github.com/weft-fabric/weft/provider/ibv/native"

// Happen makes a device hear of an event, as if the kernel had told it.
func (d *Device) Happen(kind native.EventType, whose uint32) {
	w := &watcher{device: d}
	w.heed(native.Event{Type: kind, Whose: whose})
}
