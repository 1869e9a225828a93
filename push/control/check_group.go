package control

import (
	"slices"
	"time"

	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Limits of groups.
const (
	maxWindow      = 1 << 10 // credits, and sends
	maxPause       = time.Hour
	maxAddresses   = 64 // of one end for one peer
	maxAddress     = 1 << 10
	maxDescription = 4 << 20
)

// Validate refuses a group that cannot be. An agent is never the root.
func (q *Form) Validate() error {
	return first(checkGroup(q.ID, q.Epoch), q.Plan.Validate(), checkRange("rank", q.Rank, 1, len(q.Plan.Members)-1))
}

// Validate refuses a plan that cannot be. Whether the sets are for as many blocks as the stream has is for Sets.
func (p *Plan) Validate() error {
	if err := checkText("algorithm", p.Algorithm, maxWord); err != nil {
		return err
	}
	if _, err := schedule.ParseAlgorithm(p.Algorithm); err != nil {
		return malformed("%v", err)
	}
	if !slices.Contains([]string{"ibv", "shm", "tcp"}, p.Way) {
		return malformed("there is no way %.40q", p.Way)
	}
	return first(p.checkMembers(), p.checkRacks(), checkRange("stripes", p.Stripes, 0, schedule.MaxStripes),
		checkRange("credits", p.Credits, 0, maxWindow), checkRange("sends", p.Sends, 0, maxWindow),
		checkSpan("pace", p.Pace, maxPause), checkSpan("stall", p.Stall, maxPause), p.checkStream())
}

func (p *Plan) checkMembers() error {
	if err := checkRange("members", len(p.Members), 2, MaxMembers); err != nil {
		return err
	}
	seen := make(map[string]bool, len(p.Members))
	for _, name := range p.Members {
		if err := checkName("name of a member", name); err != nil {
			return err
		}
		if seen[name] {
			return malformed("two members are called %s", name)
		}
		seen[name] = true
	}
	return nil
}

func (p *Plan) checkRacks() error {
	if n := len(p.Racks); n != 0 && n != len(p.Members) {
		return malformed("racks of %d members, of %d", n, len(p.Members))
	}
	for _, rack := range p.Racks {
		if err := checkRange("rack", rack, 0, MaxMembers-1); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) checkStream() error {
	whole := p.Stream == manifest.ManifestStream || p.Stream == manifest.ProbeStream
	parts := p.Stream == manifest.ManifestStream || p.Stream == manifest.ContentStream
	switch {
	case p.Finish && !parts, !p.Finish && !whole:
		return malformed("no group is for the %v in this way", p.Stream)
	case !p.Finish && len(p.Have) > 0:
		return malformed("sets of blocks, but nothing to finish")
	case !p.Finish:
		return nil
	}
	_, err := p.sets(MaxBlocks)
	return err
}

// Sets are who holds what, by rank, of a stream with so many blocks.
func (p *Plan) Sets(blocks int) ([]schedule.Set, error) {
	sets, err := p.sets(blocks)
	if err == nil && sets[0].Len() != blocks {
		return nil, malformed("sets of %d blocks, where the %v has %d", sets[0].Len(), p.Stream, blocks)
	}
	return sets, err
}

// sets decodes sets that are all of the same number of blocks, at most so many. Before there is memory for all, the first has told
// how much that is.
func (p *Plan) sets(most int) ([]schedule.Set, error) {
	if len(p.Have) == 0 || len(p.Have) != len(p.Members) {
		return nil, malformed("%d sets of blocks for %d members", len(p.Have), len(p.Members))
	}
	most = min(most, schedule.MaxRepair/len(p.Members))
	sets := make([]schedule.Set, len(p.Have))
	for rank, data := range p.Have {
		s, err := parseSet(data, most)
		if err != nil {
			return nil, err
		}
		if sets[rank] = s; s.Len() != sets[0].Len() {
			return nil, malformed("a set of %d blocks beside one of %d", s.Len(), sets[0].Len())
		}
	}
	return sets, nil
}

// parseSet decodes a set of at least one block.
func parseSet(data []byte, most int) (schedule.Set, error) {
	s, err := schedule.ParseSet(data, most)
	switch {
	case err != nil:
		return schedule.Set{}, malformed("%v", err)
	case s.Len() == 0:
		return schedule.Set{}, malformed("a set of no blocks")
	}
	return s, nil
}

// Validate refuses a set that is none. Whether it is for as many blocks as the stream has is for Blocks.
func (a *Have) Validate() error {
	_, err := parseSet(a.Set, MaxBlocks)
	return err
}

// Blocks is the set, of a stream with so many blocks.
func (a *Have) Blocks(blocks int) (schedule.Set, error) {
	s, err := parseSet(a.Set, blocks)
	if err == nil && s.Len() != blocks {
		return schedule.Set{}, malformed("a set of %d blocks, where the stream has %d", s.Len(), blocks)
	}
	return s, err
}

// Validate refuses addresses that are none.
func (a *Formed) Validate() error {
	return first(checkRange("bytes of the description", len(a.Description), 0, maxDescription), checkPeers(a.Addresses))
}

// Validate refuses addresses that are none.
func (q *Connect) Validate() error { return first(checkGroup(q.ID, q.Epoch), checkPeers(q.Addresses)) }

func checkPeers(addresses Addresses) error {
	for rank, list := range addresses {
		if err := first(checkRange("rank of a peer", rank, 0, MaxMembers-1), checkRange("addresses", len(list), 0, maxAddresses)); err != nil {
			return err
		}
		for _, a := range list {
			if err := checkRange("bytes of an address", len(a), 1, maxAddress); err != nil {
				return err
			}
		}
	}
	return nil
}
