package schedule

// floorplan is who sits in which rack.
type floorplan struct {
	racks [][]int // the ranks in each rack, ascending; the root's rack comes first, then by their lowest rank
	rack  []int   // by rank: index of its rack
	seat  []int   // by rank: its index there

	smallest int  // how many members the smallest rack has
	gated    bool // the root sends each block to the leader of its stripe in the root's rack, and to nobody else
}

func newFloorplan(racks []int) *floorplan {
	f := &floorplan{rack: make([]int, len(racks)), seat: make([]int, len(racks))}
	index := make(map[int]int)
	for rank, name := range racks {
		i, known := index[name]
		if !known {
			i = len(f.racks)
			index[name] = i
			f.racks = append(f.racks, nil)
		}
		f.rack[rank], f.seat[rank] = i, len(f.racks[i])
		f.racks[i] = append(f.racks[i], rank)
	}
	f.smallest = len(racks)
	for _, members := range f.racks {
		f.smallest = min(f.smallest, len(members))
	}
	return f
}

// pool is who of a rack can lead a stripe, and takes part in the rack's pipelines: all, or all but a root that only feeds
// the leaders of its rack.
func (f *floorplan) pool(rack int) []int {
	if rack == 0 && f.gated {
		return f.racks[0][1:]
	}
	return f.racks[rack]
}

// leader is the member of a rack that leads a stripe.
func (f *floorplan) leader(rack, stripe int) int {
	members := f.pool(rack)
	return members[stripe%len(members)]
}

// source is the place in the pool from which a stripe flows into a rack: the leader's, but in the root's rack the root's if
// that is there.
func (f *floorplan) source(rack, stripe int) int {
	if rack == 0 && !f.gated {
		return 0
	}
	return stripe % len(f.pool(rack))
}

// position is the place of a seat in a stripe's pipeline in the rack, which begins at the source.
func (f *floorplan) position(rack, seat, stripe int) int {
	if rack == 0 && f.gated {
		seat--
	}
	size := len(f.pool(rack))
	return (seat + size - f.source(rack, stripe)) % size
}

// occupant is the member with a position there.
func (f *floorplan) occupant(rack, position, stripe int) int {
	members := f.pool(rack)
	return members[(position+f.source(rack, stripe))%len(members)]
}
