package schedule

// floorplan is who sits in which rack.
type floorplan struct {
	racks [][]int // the ranks in each rack, ascending; the root's rack comes first, then by their lowest rank
	rack  []int   // by rank: index of its rack
	seat  []int   // by rank: its index there
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
	return f
}

// smallest is the size of the smallest rack.
func (f *floorplan) smallest() int {
	size := len(f.rack)
	for _, members := range f.racks {
		size = min(size, len(members))
	}
	return size
}

// leaders are the members of each rack that lead a stripe.
func (f *floorplan) leaders(stripe int) []int {
	ranks := make([]int, len(f.racks))
	for i, members := range f.racks {
		ranks[i] = members[stripe%len(members)]
	}
	return ranks
}

// source is the seat in a rack from which a stripe flows into it: the leader's, but in the root's rack the root's.
func (f *floorplan) source(rack, stripe int) int {
	if rack == 0 {
		return 0
	}
	return stripe % len(f.racks[rack])
}

// inRack are the members of a rack in the order of a stripe's pipeline: the source first.
func (f *floorplan) inRack(rack, stripe int) []int {
	members, source := f.racks[rack], f.source(rack, stripe)
	ranks := make([]int, 0, len(members))
	return append(append(ranks, members[source:]...), members[:source]...)
}

// position is the place of a seat in that order.
func (f *floorplan) position(rack, seat, stripe int) int {
	size := len(f.racks[rack])
	return (seat + size - f.source(rack, stripe)) % size
}
