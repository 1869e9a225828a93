package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/plot"
	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// schedulesReport is what weft sim schedule tells programs.
type schedulesReport struct {
	Version   string          `json:"weft"`
	Nodes     int             `json:"nodes"`
	Blocks    int             `json:"blocks"`
	Racks     []int           `json:"racks,omitempty"` // of each member
	Schedules []*scheduleView `json:"schedules"`
}

// scheduleView is one schedule as a whole.
type scheduleView struct {
	Algorithm string            `json:"algorithm"`
	Stripes   int               `json:"stripes,omitempty"` // 0: the default
	Steps     int               `json:"steps"`
	Bound     int               `json:"bound_steps"`            // of the best possible
	Across    int               `json:"across_racks,omitempty"` // transfers from one rack to another
	Transfers [][]schedule.Send `json:"transfers"`              // by step

	config schedule.Config
	blocks int
	racks  []int
}

// newScheduleView computes the whole of a schedule. Racks are known also where the algorithm does not look at them.
func newScheduleView(config schedule.Config, racks []int, blocks int) (*scheduleView, error) {
	if config.Algorithm.Racks() {
		config.Racks = racks
	}
	sends, err := schedule.Whole(config, blocks)
	if err != nil {
		return nil, err
	}
	root, err := schedule.New(config, 0)
	if err != nil {
		return nil, err
	}
	v := &scheduleView{Algorithm: config.Algorithm.String(), Stripes: config.Stripes, Steps: len(sends), Bound: root.Bound(blocks),
		Transfers: sends, config: config, blocks: blocks, racks: racks}
	for _, step := range sends {
		for _, s := range step {
			if racks != nil && racks[s.From] != racks[s.To] {
				v.Across++
			}
		}
	}
	return v, nil
}

// print prints the steps, what each member then has, and what it comes to.
func (v *scheduleView) print(w io.Writer, apart bool) error {
	out := bufio.NewWriter(w)
	if apart {
		fmt.Fprintln(out)
	}
	if err := schedule.Write(out, v.config, v.blocks); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n\n", v.sum())
	table := v.progressTable()
	if !v.fitsGrid() {
		table = v.memberTable()
	}
	if err := table.Print(out); err != nil {
		return err
	}
	return out.Flush()
}

// sum says in a sentence what it comes to.
func (v *scheduleView) sum() string {
	text := fmt.Sprintf("%s, at best %d: k + ⌈log₂ n⌉ − 1.", counted(v.Steps, "step"), v.Bound)
	if v.racks != nil {
		text += fmt.Sprintf(" %s between racks, at least %d: k · (racks − 1).", counted(v.Across, "transfer"), v.blocks*v.racks[len(v.racks)-1])
	}
	return text
}

// figure draws the schedule.
func (v *scheduleView) figure() *figure.Figure {
	d := plot.Steps{Title: fmt.Sprintf("%s: %d members, %s, %s", printable.Capital(v.Algorithm), v.config.Members, counted(v.blocks, "block"), counted(v.Steps, "step")),
		Racks: v.racks, Blocks: v.blocks}
	for rank := range v.config.Members {
		d.Members = append(d.Members, fmt.Sprint(rank))
	}
	for _, step := range v.Transfers {
		var row []plot.Transfer
		for _, s := range step {
			row = append(row, plot.Transfer(s))
		}
		d.Steps = append(d.Steps, row)
	}
	return &figure.Figure{Name: v.Algorithm, Title: d.Title, Text: v.sum(), Steps: []plot.Steps{d}, Table: v.memberTable()}
}

// What a line of the terminal has room for.
const (
	gridBlocks  = 10 // a digit each
	gridColumns = 80
)

// fitsGrid reports whether what everybody has after each step can be shown.
func (v *scheduleView) fitsGrid() bool {
	return v.blocks <= gridBlocks && v.config.Members <= 100 && 22+max(v.blocks, 5)+v.Steps*(max(v.blocks, 2)+2) <= gridColumns
}

// progressTable has a digit for each block that a member has, after each step.
func (v *scheduleView) progressTable() *figure.Table {
	t := &figure.Table{Columns: []string{"blocks, after step", "start"}}
	cells := make([][]rune, v.config.Members)
	for rank := range cells {
		cells[rank] = []rune(strings.Repeat("·", v.blocks))
		t.Rows = append(t.Rows, []string{v.memberName(rank)})
	}
	copy(cells[0], []rune("0123456789"))
	v.snapshot(t, cells)
	for i, step := range v.Transfers {
		t.Columns = append(t.Columns, fmt.Sprintf("%-*d", v.blocks, i))
		for _, s := range step {
			cells[s.To][s.Block] = '0' + rune(s.Block)
		}
		v.snapshot(t, cells)
	}
	return t
}

// snapshot adds a column to the table: what each member has now.
func (v *scheduleView) snapshot(t *figure.Table, cells [][]rune) {
	for rank := range t.Rows {
		t.Rows[rank] = append(t.Rows[rank], string(cells[rank]))
	}
}

func (v *scheduleView) memberName(rank int) string {
	if v.racks == nil {
		return fmt.Sprint("member ", rank)
	}
	return fmt.Sprintf("member %d, rack %d", rank, v.racks[rank])
}

// memberTable has a row for each member: when it got its first and its last block, and how many it sent.
func (v *scheduleView) memberTable() *figure.Table {
	first, last, sent := make([]int, v.config.Members), make([]int, v.config.Members), make([]int, v.config.Members)
	received := make([]int, v.config.Members)
	for step, sends := range v.Transfers {
		for _, s := range sends {
			if received[s.To] == 0 {
				first[s.To] = step
			}
			last[s.To] = step
			received[s.To]++
			sent[s.From]++
		}
	}
	t := &figure.Table{Columns: []string{"member", "first block", "last block", "received", "sent"}}
	for rank := range v.config.Members {
		row := []string{v.memberName(rank), fmt.Sprint("step ", first[rank]), fmt.Sprint("step ", last[rank]), fmt.Sprint(received[rank]), fmt.Sprint(sent[rank])}
		if rank == 0 {
			row[1], row[2] = "has all", ""
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
