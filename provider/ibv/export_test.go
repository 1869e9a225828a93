package ibv

import (
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Happen makes a device hear of an event, as if the kernel had told it.
func (d *Device) Happen(kind native.EventType, whose uint32) {
	w := &watcher{device: d}
	w.heed(native.Event{Type: kind, Whose: whose})
}

// Linger makes the owner of a completion queue look for what is late, as if so much time had passed since it did so last.
func Linger(queue driver.CompletionQueue, d time.Duration) {
	c := queue.(*completionQueue)
	c.nextLook = 0
	c.lookIfDue(clock.Real.Now().Add(d))
}

// WithoutWindows makes a device one that has no memory windows.
func WithoutWindows(d *Device) { d.lends = false }

// TakeForCard makes a software device be used as a card would be.
func TakeForCard(d *Device) { d.choice.Device.Driver = "card" }

// Loans counts what a window lends, or has lent and not freed.
func Loans(w driver.Window) int { return len(w.(*window).loans) }
