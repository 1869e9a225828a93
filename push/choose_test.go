package push

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name     string
		task     task
		min, max int // block
		stripes  int // 0: any
	}{
		{"slow links", task{members: 8, size: 1 << 30, way: wayTCP, links: links{rate: 200e6}}, 32 << 10, 60 << 10, 1},
		{"slow links between hosts that have shared memory", task{members: 8, size: 1 << 30, way: wayShm, links: links{rate: 200e6}}, 32 << 10, 60 << 10, 1},
		{"a gigabit", task{members: 8, size: 1 << 30, way: wayTCP, links: links{rate: 1e9}}, 60 << 10, 172 << 10, 1},
		{"shared memory", task{members: 8, size: 1 << 30, way: wayShm, links: links{local: true}}, 128 << 10, 1 << 20, 0},
		{"a small file", task{members: 8, size: 1000, way: wayTCP, links: links{rate: 1e9}}, control.MinBlock, 172 << 10, 0},
		{"nothing at all", task{members: 2, size: 0, way: wayTCP}, control.MinBlock, 1 << 20, 0},
		{"as was said", task{members: 8, size: 1 << 30, way: wayTCP, block: 256 << 10}, 256 << 10, 256 << 10, 0},
		{"very much for many", task{members: 1000, size: 1 << 40, way: wayTCP, links: links{rate: 1e9}}, 1 << 20, control.MaxBlock, 0},
	} {
		c.task.algorithm, c.task.memory = Auto, control.MemoryBudget
		if c.name == "very much for many" {
			c.task.size = 1 << 37
		}
		got, err := c.task.choose()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got.Block < c.min || got.Block > c.max || c.stripes != 0 && got.Stripes != c.stripes {
			t.Errorf("%s: blocks of %d in %d stripes, want %d to %d, in %d", c.name, got.Block, got.Stripes, c.min, c.max, c.stripes)
		}
		if l := manifest.NewLayout(manifest.ContentStream, c.task.size, got.Block); c.task.members*l.Blocks() > schedule.MaxRepair {
			t.Errorf("%s: %d blocks for %d members cannot be repaired", c.name, l.Blocks(), c.task.members)
		}
	}
}

// Links are never measured to be quite the same. Who pushes again takes the same blocks all the same: hashes and partials are for blocks.
func TestBlocksStayTheSame(t *testing.T) {
	for _, rate := range []float64{100e6, 200e6, 1e9, 2.5e9, 5e9, 10e9, 25e9, 100e9} {
		of := func(share float64, before int) int {
			x := task{members: 8, size: 1 << 30, way: wayTCP, links: links{rate: rate * share}, before: before, algorithm: Auto, memory: control.MemoryBudget}
			c, err := x.choose()
			if err != nil {
				t.Fatal(err)
			}
			return c.Block
		}
		first := of(0.94, 0)
		for _, share := range []float64{0.9, 0.92, 0.96, 0.98} {
			if block := of(share, 0); block != first {
				t.Errorf("at %.3g bit/s: blocks of %d, and at %.0f %% of that of %d", rate*0.94, first, 100*share/0.94, block)
			}
		}
		for _, share := range []float64{0.6, 1.5} {
			if block := of(share, first); block != first {
				t.Errorf("at %.3g bit/s: blocks of %d, and at %.0f %% of that, which takes hardly longer, of %d", rate*0.94, first, 100*share/0.94, block)
			}
		}
	}
}

// Blocks of an earlier push are not worth every price.
func TestBlocksOfOtherLinks(t *testing.T) {
	for _, before := range []int{1, control.MinBlock, 100_001, 1 << 20, control.MaxBlock, control.MaxBlock * 2} {
		x := task{members: 8, size: 1 << 30, way: wayTCP, links: links{rate: 1e9}, before: before, algorithm: Auto, memory: control.MemoryBudget}
		c, err := x.choose()
		if err != nil {
			t.Fatal(err)
		}
		if c.Block == before && before != control.MinBlock {
			t.Errorf("on links of a gigabit blocks of %d are taken again", before)
		}
	}
	x := task{members: 8, size: 1 << 30, way: wayTCP, links: links{rate: 1e9}, block: 64 << 10, before: 32 << 10, algorithm: Auto, memory: control.MemoryBudget}
	if c, err := x.choose(); err != nil || c.Block != 64<<10 {
		t.Errorf("blocks of 64 KiB were asked for, and %d are taken: %v", c.Block, err)
	}
}

func TestChooseKnowsRacks(t *testing.T) {
	racks := []int{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}
	x := task{members: 12, racks: racks, size: 1 << 30, way: wayTCP, links: links{rate: 10e9}, algorithm: schedule.RackPipeline.String(), memory: control.MemoryBudget}
	if got, err := x.choose(); err != nil || got.Algorithm.String() != x.algorithm {
		t.Errorf("chose %v: %v", got, err)
	}
}

func TestChooseSaysWhenNothingFits(t *testing.T) {
	x := task{members: 1000, size: 1 << 45, way: wayTCP, algorithm: Auto, memory: control.MemoryBudget}
	if c, err := x.choose(); err == nil {
		t.Errorf("32 TiB for 1000 hosts go in blocks of %d", c.Block)
	}
}

// 200 GB in blocks that suit slow links have more hashes than an agent keeps.
func TestChosenBlocksLeaveRoomForTheirHashes(t *testing.T) {
	task := task{members: 8, size: 200e9, way: wayTCP, links: links{rate: 1e9}, algorithm: Auto, memory: control.MemoryBudget}
	choice, err := task.choose()
	if err != nil {
		t.Fatal(err)
	}
	l := manifest.NewLayout(manifest.ContentStream, task.size, choice.Block)
	if kept := l.Pages() * l.Header(); 2*kept > control.PagesBudget {
		t.Errorf("blocks of %d have %d bytes of hashes; agents keep %d for all pushes", choice.Block, kept, control.PagesBudget)
	}
	task.block = control.MinBlock
	if _, err := task.choose(); err == nil {
		t.Error("more hashes than agents keep were asked for, and chosen")
	}
}

// What docs/push.md says of the largest push is true: agents keep the hashes of so many blocks, and a repair is planned for so many.
func TestLargestPush(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		members int
		most    uint64 // bytes
	}{{2, 1820 * gib}, {8, 1820 * gib}, {145, 1807 * gib}, {501, 523 * gib}, {control.MaxMembers, 63 * gib}} {
		for _, part := range []uint64{1, 30, 55, 64, 70, 80, 90, 100} {
			x := task{members: c.members, size: c.most / 100 * part, way: wayTCP, links: links{rate: 1e9}, algorithm: Auto, memory: control.MemoryBudget}
			if _, err := x.choose(); err != nil {
				t.Errorf("%d bytes to %d members: %v", x.size, c.members, err)
			}
		}
		x := task{members: c.members, size: c.most + 2*gib, way: wayTCP, links: links{rate: 1e9}, algorithm: Auto, memory: control.MemoryBudget}
		if got, err := x.choose(); err == nil {
			t.Errorf("%d bytes to %d members go in blocks of %d", x.size, c.members, got.Block)
		}
	}
}

func TestBound(t *testing.T) {
	if got := bound(8, 100, 1000, 1e6); got != 102*time.Millisecond { // 100 + 3 - 1 steps of a millisecond
		t.Errorf("the bound is %v, want 102 ms", got)
	}
	if got := bound(9, 1, 1000, 1e6); got != 4*time.Millisecond {
		t.Errorf("the bound of one block for 9 is %v, want 4 ms", got)
	}
	if got := bound(8, 100, 1000, 0); got != 0 {
		t.Errorf("without a rate the bound is %v", got)
	}
}

// Where racks are known little goes from one to another, whatever the shape of the group, and nobody has to name an algorithm.
func TestChoiceSparesRacks(t *testing.T) {
	for _, perRack := range []int{1, 2, 5, 16} {
		for _, count := range []int{2, 3, 8} {
			racks := make([]int, 1+perRack*count)
			for i := range perRack * count {
				racks[1+i] = i / perRack
			}
			for _, size := range []uint64{4 << 20, 1 << 30} {
				x := task{members: len(racks), racks: racks, size: size, way: wayTCP, links: links{rate: 1e9}, memory: control.MemoryBudget}
				c, err := x.choose()
				if err != nil {
					t.Fatal(err)
				}
				l := manifest.NewLayout(manifest.ContentStream, size, c.Block)
				if copies := float64(crossBytes(c, racks, l)) / float64(l.WireSize()); copies > float64(count-1)+0.1 {
					t.Errorf("%d racks of %d, %d bytes: %s sends %.2f copies between racks", count, perRack, size, c.Algorithm, copies)
				}
			}
		}
	}
}

// The pusher is in its own rack, also where no host is that it pushes to.
func TestRackOfThePusher(t *testing.T) {
	for own, want := range map[string]int{"": 0, "left": 0, "right": 1, "elsewhere": 2} {
		numbers, root := rackNumbers([]string{"left", "right", "left"}, own)
		if !slices.Equal(numbers, []int{0, 1, 0}) || root != want {
			t.Errorf("%q: hosts are in racks %v, the pusher in %d", own, numbers, root)
		}
	}
	x := task{members: 4, racks: []int{0, 1, 1, 2}, size: 1 << 30, way: wayTCP, links: links{rate: 1e9}, memory: control.MemoryBudget, algorithm: Auto}
	c, err := x.choose()
	if err != nil {
		t.Fatal(err)
	}
	l := manifest.NewLayout(manifest.ContentStream, x.size, c.Block)
	if copies := float64(crossBytes(c, x.racks, l)) / float64(l.WireSize()); copies < 2 || copies > 2.1 {
		t.Errorf("%s sends %.2f copies from the pusher's rack to the two others", c.Algorithm, copies)
	}
}

func TestByRack(t *testing.T) {
	a, b, c, d := &host{name: "a", rack: 2}, &host{name: "b", rack: 0}, &host{name: "c", rack: 1}, &host{name: "d", rack: 0}
	ordered, racks := byRack([]*host{a, b, c, d}, 1, true)
	if ordered[0] != c || ordered[1] != b || ordered[2] != d || ordered[3] != a {
		t.Errorf("the order is %v", ordered)
	}
	want := []int{0, 0, 1, 1, 2}
	for i := range want {
		if racks[i] != want[i] {
			t.Errorf("racks are %v, want %v", racks, want)
		}
	}
	if _, racks := byRack([]*host{a, b}, 0, false); racks != nil {
		t.Errorf("nobody knows racks, and they are %v", racks)
	}
}

func TestCrossing(t *testing.T) {
	x := traffic{{rootName, "a"}: {100, time.Second}, {"a", "b"}: {40, time.Second}, {"b", "c"}: {2, time.Second}}
	if got := x.crossing(map[string]int{rootName: 0, "a": 0, "b": 1, "c": 0}); got != 42 {
		t.Errorf("%d bytes crossed, want 42", got)
	}
	if r := x.reports(); len(r) != 3 || r[0].Bytes != 100 || r[2].Bytes != 2 {
		t.Errorf("hops are told as %+v", r)
	}
}

// Shared memory is a way only if two members are on one host: elsewhere it would be named, and never taken.
func TestSharedMemoryIsForOneHost(t *testing.T) {
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	hostsNamed := func(names ...string) (all []*host) {
		for _, name := range names {
			all = append(all, &host{greeting: control.Greeting{Host: name, Ways: []string{wayShm, wayTCP}}})
		}
		return all
	}
	for _, c := range []struct {
		hosts []*host
		want  string
	}{
		{hostsNamed(own+"-1", own+"-2"), wayTCP},
		{hostsNamed(own+"-1", own), wayShm},
		{hostsNamed(own+"-1", own+"-2", own+"-1"), wayShm},
	} {
		if got, _ := commonWays([]string{wayShm, wayTCP}, c.hosts, false, false); got[0] != c.want {
			t.Errorf("%d hosts go by %s, not %s", len(c.hosts), got[0], c.want)
		}
	}
}
