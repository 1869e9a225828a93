package stream

import (
	"fmt"

	"github.com/weft-fabric/weft/ripc"
)

// network is what net.Addr calls it.
const network = "ripc"

// Addr is an end of a connection: a service, or a process that has dialled one.
type Addr struct {
	ID   ripc.ID
	Name string // of the service; empty: it has none, or it is a process
}

// Network implements net.Addr.
func (a Addr) Network() string { return network }

// String implements net.Addr: it is the service's name, or else a part of the ID.
func (a Addr) String() string {
	if a.Name != "" {
		return a.Name
	}
	return fmt.Sprintf("%x", a.ID[1:9])
}
