package ibv

import (
	"log/slog"
	"net/netip"
	"time"
)

// Config describes a device to open. The zero value takes the best device there is.
type Config struct {
	Device      string        // "mlx5_0:1", or "mlx5_0" for its first usable port; empty: the best, see Near
	Near        netip.Addr    // prefer the port that reaches this address; zero: the fastest
	PeerTimeout time.Duration // a dead or silent peer is reported within this; zero: 10 s; 2 s is the least
	HugePages   bool          // Alloc takes huge pages where the system has some reserved
	Log         *slog.Logger  // hears of ports going down and the like; nil: nobody
}
