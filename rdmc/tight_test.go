package rdmc

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// tight is a random group with unfinished messages and new ones, whose Stores have exactly the memory that Store asks for.
type tight struct {
	*rig
	random   *rand.Rand
	config   Config
	shelves  []*shelf
	contents map[uint64][]byte // by message
}

// Nothing waits for ever, however little memory there is, and in whatever order blocks pass the gate.
func TestTightStores(t *testing.T) {
	seeds := uint64(1000)
	if testing.Short() {
		seeds = 200
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			g := newTight(t, seed)
			g.form(g.config)
			g.sendSome()
			g.finishAll()
			g.compare()
		})
	}
}

func newTight(t *testing.T, seed uint64) *tight {
	r := rand.New(rand.NewPCG(seed, 5))
	algorithms := []schedule.Algorithm{schedule.Pipeline, schedule.Circulant, schedule.Chain, schedule.Tree, schedule.Sequential}
	algorithm := algorithms[r.IntN(5)]
	g := &tight{rig: &rig{t: t}, random: r, contents: map[uint64][]byte{}}
	g.config = Config{Name: "g", Members: names(1 + r.IntN(12)), Algorithm: algorithm, BlockSize: 64,
		Stripes: 1 + r.IntN(4), Credits: r.IntN(6), Sends: r.IntN(6), Gate: r.IntN(2) == 0,
		Reload: algorithm >= schedule.Tree || r.IntN(3) == 0}
	g.config.setDefaults()
	for range r.IntN(7) {
		g.config.Unfinished = append(g.config.Unfinished, g.unfinished(uint64(len(g.contents))))
	}
	n := len(g.config.Members)
	g.shelves = g.rig.shelves(n, 0, 64)
	g.rig.prepare = func(m *member) {
		own := g.config
		own.Self = m.rank
		*g.shelves[m.rank] = *newShelf(t, m.domain, StoreRoom(own), 64)
		m.extra = g.shelves[m.rank].memory
		g.stock(m.rank)
	}
	return g
}

// write makes a message up.
func (g *tight) write(number uint64) []byte {
	content := make([]byte, g.random.IntN(3000)>>g.random.IntN(8))
	for i := range content {
		content[i] = byte(g.random.Uint32())
	}
	g.contents[number] = content
	return content
}

// unfinished has each block of a message lie somewhere, and most in several places.
func (g *tight) unfinished(number uint64) Unfinished {
	u := Unfinished{Message: Message{Number: number, Size: uint64(len(g.write(number))), BlockSize: 64}}
	for range g.config.Members {
		u.Have = append(u.Have, schedule.NewSet(u.Blocks()))
	}
	for block := range u.Blocks() {
		for range 1 + g.random.IntN(len(u.Have)) {
			u.Have[g.random.IntN(len(u.Have))].Add(block)
		}
	}
	return u
}

// stock puts what a member holds on its shelf.
func (g *tight) stock(rank int) {
	for _, u := range g.config.Unfinished {
		held := make([]byte, u.Size)
		for block := range u.Have[rank].All() {
			copy(held[block*64:][:u.BlockLen(block)], g.contents[u.Number][block*64:])
		}
		g.shelves[rank].contents[u.Number] = held
	}
}

func (g *tight) sendSome() {
	for range g.random.IntN(5) {
		number := g.members[0].group.next
		g.shelves[0].contents[number] = g.write(number)
		_, err := g.members[0].group.Send(Place{}, uint64(len(g.contents[number])))
		check(g.t, err)
	}
}

// finishAll lets time pass, and blocks pass the gate, until all messages are complete everywhere.
func (g *tight) finishAll() {
	g.t.Helper()
	for left, rounds := true, 0; left; rounds++ {
		left = false
		for _, m := range g.members {
			left = left || len(m.completed) < len(g.contents)
			g.acceptSome(m)
			m.group.Continue()
			check(g.t, m.group.check())
		}
		if rounds > 20_000 {
			g.t.Fatalf("%+v\n%s", g.config, g.describe())
		}
		g.pass(time.Duration(g.random.IntN(3000)))
	}
}

func (g *tight) acceptSome(m *member) {
	s := g.shelves[m.rank]
	waiting := s.gate
	s.gate = nil
	for _, b := range waiting {
		switch {
		case !g.config.Gate:
		case g.random.IntN(5) > 0:
			s.gate = append(s.gate, b)
		default:
			check(g.t, m.group.Accept(b.number, b.block))
		}
	}
}

func (g *tight) compare() {
	for rank, s := range g.shelves {
		for number, want := range g.contents {
			if !bytes.Equal(s.contents[number], want) {
				g.t.Errorf("member %d has another message %d", rank, number)
			}
		}
		for what, times := range s.arrived {
			if times != 1 {
				g.t.Errorf("member %d: block %s came %d times", rank, what, times)
			}
		}
	}
	g.closeAll()
	g.expectNothingOut(g.shelves)
}
