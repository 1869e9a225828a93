package plot

import (
	"fmt"
	"io"
	"math"
)

// Steps is a schedule as a diagram of space and time: a row for each member, a column for each step, an arrow for each block
// that one member sends to another.
type Steps struct {
	Title   string       `json:"title"`
	Members []string     `json:"members"`         // names; the first has all blocks in the beginning
	Racks   []int        `json:"racks,omitempty"` // of each member; nil: there are none
	Blocks  int          `json:"blocks"`
	Steps   [][]Transfer `json:"steps"` // what is sent in each
}

// Transfer is a block on its way.
type Transfer struct {
	From  int `json:"from"`
	To    int `json:"to"`
	Block int `json:"block"`
}

// Limits of a schedule that can be drawn: what is more has lines and no picture.
const (
	MaxMembers   = 64
	MaxSteps     = 64
	MaxTransfers = 2000
	maxStrip     = 8 // blocks that are shown one by one
)

// WriteSVG draws the schedule.
func (s *Steps) WriteSVG(w io.Writer) error { return writeSVG(w, s) }

// stage is where everything of a schedule stands.
type stage struct {
	plan  *Steps
	out   *canvas
	rows  []float64 // the middle of each member's row
	left  float64   // where the first column begins
	strip float64   // how wide a column of blocks is
	way   float64   // between two columns, for the arrows
	have  [][]bool  // by member and block
	top   float64
}

// cell is the size of a block, in a strip or alone.
const cell = 14

func (s *Steps) draw() (*canvas, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	g := s.stage()
	g.drawRows()
	g.drawColumn(0, nil)
	for i, step := range s.Steps {
		g.out.text("muted mid", g.column(i)+g.strip+g.way/2, g.top-14, fmt.Sprint("step ", i))
		for _, t := range step {
			g.drawArrow(i, t)
		}
		for _, t := range step {
			g.have[t.To][t.Block] = true
		}
		g.drawColumn(i+1, step)
	}
	return g.out, nil
}

// stage lays everything out: narrower where there is much.
func (s *Steps) stage() *stage {
	g := &stage{plan: s, out: &canvas{}, strip: cell, way: 64}
	if s.Blocks <= maxStrip {
		g.strip = float64(cell * s.Blocks)
	}
	height := 36.0
	if len(s.Members) > 16 {
		height, g.way = 24, 96
	}
	g.left = 72
	for _, name := range s.Members {
		g.left = max(g.left, 2*edge+textWidth(name))
	}
	g.out.width = max(g.column(len(s.Steps))+g.strip+edge, chartLeast)
	g.out.narrowest = 0.8 * g.out.width
	g.top = g.out.heading(s.Title, "") + 44
	y := g.top
	for i := range s.Members {
		if g.beginsRack(i) {
			y += rackGap
		}
		g.rows = append(g.rows, y+height/2)
		y += height
		g.have = append(g.have, make([]bool, s.Blocks))
	}
	for block := range s.Blocks {
		g.have[0][block] = true
	}
	g.out.height = y + edge
	return g
}

// rackGap is the room above a rack, for its name.
const rackGap = 20

// beginsRack reports whether a member is the first of its rack in a row.
func (g *stage) beginsRack(member int) bool {
	racks := g.plan.Racks
	return racks != nil && (member == 0 || racks[member] != racks[member-1])
}

// column is where the blocks stand after so many steps.
func (g *stage) column(i int) float64 { return g.left + float64(i)*(g.strip+g.way) }

// drawRows draws a line of time and a name for each member.
func (g *stage) drawRows() {
	for i, name := range g.plan.Members {
		g.out.line("grid", g.left, g.rows[i], g.column(len(g.plan.Steps)), g.rows[i])
		g.out.text("strong right", g.left-10, g.rows[i]+4.5, name)
		if g.beginsRack(i) {
			g.out.text("muted small", edge, g.rows[i]-20, fmt.Sprint("rack ", g.plan.Racks[i]))
		}
	}
	g.out.text("muted", edge, g.top-14, "member")
	g.out.body.WriteByte('\n')
}

// drawArrow draws a block that leaves its sender at the beginning of a step and is with its receiver at the end.
func (g *stage) drawArrow(step int, t Transfer) {
	x1, y1 := g.column(step)+g.strip+3, g.rows[t.From]
	x2, y2 := g.column(step+1)-4, g.rows[t.To]
	length := math.Hypot(x2-x1, y2-y1)
	dx, dy := (x2-x1)/length, (y2-y1)/length
	g.out.open("send " + colour(t.Block))
	g.out.hover(fmt.Sprintf("step %d: %s sends block %d to %s", step, g.plan.Members[t.From], t.Block, g.plan.Members[t.To]))
	g.out.line("arrow", x1, y1, x2-6*dx, y2-6*dy)
	g.out.polyline("head", []Point{{x2, y2}, {x2 - 9*dx - 4*dy, y2 - 9*dy + 4*dx}, {x2 - 9*dx + 4*dy, y2 - 9*dy - 4*dx}})
	g.out.end()
}

// drawColumn draws what the members have after so many steps, of which the last brought something.
func (g *stage) drawColumn(i int, brought []Transfer) {
	if g.plan.Blocks > maxStrip {
		g.drawArrivals(i, brought)
		return
	}
	for member, y := range g.rows {
		for block, has := range g.have[member] {
			g.drawBlock(g.column(i)+float64(block*cell), y, block, has)
		}
	}
	for _, t := range brought {
		g.out.rect("ring", g.column(i)+float64(t.Block*cell)-0.5, g.rows[t.To]-cell/2-0.5, cell+1, cell+1, 4)
	}
	g.out.body.WriteByte('\n')
}

// drawArrivals draws only what arrives, where there are too many blocks to show all.
func (g *stage) drawArrivals(i int, brought []Transfer) {
	for _, t := range brought {
		g.drawBlock(g.column(i), g.rows[t.To], t.Block, true)
	}
}

// drawBlock draws a block that a member has, with its number, or the place of one that it has not.
func (g *stage) drawBlock(x, y float64, block int, has bool) {
	if !has {
		g.out.rect("hole", x+1.5, y-cell/2+1.5, cell-3, cell-3, 3)
		return
	}
	g.out.open(colour(block))
	g.out.rect("solid", x+0.5, y-cell/2+0.5, cell-1, cell-1, 3)
	g.out.text("on small mid", x+cell/2, y+4, fmt.Sprint(block))
	g.out.end()
}

// Validate says what is wrong with a schedule.
func (s *Steps) Validate() error {
	if err := s.validate(); err != nil {
		return fmt.Errorf("schedule %.60q: %w", s.Title, err)
	}
	return nil
}

func (s *Steps) validate() error {
	transfers := 0
	for _, step := range s.Steps {
		transfers += len(step)
	}
	switch {
	case len(s.Members) == 0 || s.Blocks < 1:
		return errEmpty
	case len(s.Members) > MaxMembers || len(s.Steps) > MaxSteps || transfers > MaxTransfers || s.Blocks > MaxTransfers:
		return fmt.Errorf("%d members, %d steps and %d transfers are too many for a drawing: up to %d, %d and %d can be looked at; take fewer members or blocks",
			len(s.Members), len(s.Steps), transfers, MaxMembers, MaxSteps, MaxTransfers)
	case s.Racks != nil && len(s.Racks) != len(s.Members):
		return fmt.Errorf("racks of %d members are known, and there are %d", len(s.Racks), len(s.Members))
	}
	for i, step := range s.Steps {
		for _, t := range step {
			if min(t.From, t.To, t.Block) < 0 || max(t.From, t.To) >= len(s.Members) || t.Block >= s.Blocks || t.From == t.To {
				return fmt.Errorf("step %d: from %d to %d, block %d: there are %d members and %d blocks", i, t.From, t.To, t.Block, len(s.Members), s.Blocks)
			}
		}
	}
	return checkTexts(append([]string{s.Title}, s.Members...))
}
