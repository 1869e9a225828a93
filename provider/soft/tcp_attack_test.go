package soft

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestRouseAfterClose: who is late to wake the owner of a closed queue writes to nobody else's descriptor.
func TestRouseAfterClose(t *testing.T) {
	p, err := newPoller()
	ok(t, err)
	p.close()
	for range 16 {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		ok(t, err)
		defer unix.Close(fd)
		if fd != p.event {
			continue
		}
		p.rouse()
		var count [8]byte
		if _, err := unix.Read(fd, count[:]); err != unix.EAGAIN {
			t.Fatalf("the new owner of the descriptor reads %v, %v", count, err)
		}
		return
	}
	t.Skip("somebody else has got the descriptor")
}
