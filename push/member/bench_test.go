package member

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// file is an owner of blocks that keeps them in a file.
type file struct {
	*disk
	*os.File
}

func (f *file) Keep(l manifest.Layout, block int, wire []byte) error {
	_, err := f.WriteAt(wire[l.Header():], int64(l.Offset(block)))
	return err
}

// Three members in a chain, over TCP, with real hashes and files. In a profile, tag rank=1 is the relay.
func BenchmarkRelay(b *testing.B) {
	for _, block := range []int{64 << 10, 256 << 10, 1 << 20} {
		b.Run(fmt.Sprint(block>>10, "KiB"), func(b *testing.B) { benchRelay(b, block) })
	}
}

func benchRelay(b *testing.B, block int) {
	const size = 64 << 20
	p := newPush(rand.New(rand.NewPCG(1, 2)), block, size)
	m := &team{t: b, push: p, ctx: context.Background()}
	for rank := range 3 {
		pprof.Do(m.ctx, pprof.Labels("rank", fmt.Sprint(rank)), func(context.Context) { m.ends = append(m.ends, newTCPEnd(b, p, rank)) })
	}
	b.SetBytes(size)
	for i := range b.N {
		m.form(m.plan(schedule.Chain), i, p.streams)
		check(b, m.ends[0].member.Send(m.ctx, 0))
		for _, e := range m.ends {
			if v := e.await(m.ctx, Completed, 0); v == nil || v.Kind != Completed {
				b.Fatalf("%+v", v)
			}
		}
		m.endAll()
	}
}

func newTCPEnd(b *testing.B, p *push, rank int) *end {
	e := newEnd(b, newDisk(p, rank == 0), soft.TCP, 64<<20)
	f, err := os.CreateTemp(benchDir(), "weft-bench")
	check(b, err)
	b.Cleanup(func() {
		check(b, f.Close())
		check(b, os.Remove(f.Name()))
	})
	e.blocks = &file{e.disk, f}
	return e
}

// benchDir is in memory, where there is such a folder.
func benchDir() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}
