package rdmc

import "github.com/weft-fabric/weft/verbs"

// arrivalOf is the moment when a block that has not come yet will have come, for a send that the NIC is to start by itself
// (section 4.4). With Offload, Credits and Sends are large, and the sends of a whole message, or as many as fit, are posted
// as soon as its size is known: no host software runs between blocks. A receiver still says first that its receives
// are posted, so that nothing is sent into the void.
func (g *Group) arrivalOf(t *transfer, block int) (verbs.Arrival, bool) {
	if !g.config.Offload {
		return verbs.Arrival{}, false
	}
	for i := range g.incoming {
		if in := &g.incoming[i]; in.transfer == t && in.block == block {
			return in.link.data.Arrival(in.count), true
		}
	}
	return verbs.Arrival{}, false
}
