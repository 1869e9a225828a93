package push

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/source"
)

// Before anything is sent, progress is what was hashed here, and then what all hosts have looked at.
func TestProgressBeforeSending(t *testing.T) {
	views := []view{{status: control.Status{Examined: 2, ToExamine: 5}}, {status: control.Status{Examined: 1, ToExamine: 7}}}
	for stage, want := range map[string][2]uint64{"scan": {}, "connect": {}, "hash": {3, 9}, "manifest": {3, 12}, "examine": {3, 12}} {
		p := &pusher{Config: Config{Events: func(Event) {}}}
		p.stage.Store("connect")
		if stage == "hash" {
			p.hashed(3, 9)
		}
		p.stage.Store(stage)
		if g := (&clock{p: p}).progress(views); g.Phase != stage || g.Done != want[0] || g.Total != want[1] {
			t.Errorf("%s: %+v, want %d of %d", stage, g, want[0], want[1])
		}
	}
}

// What is hashed of a source counts, up to all of it.
func TestProgressOfHashing(t *testing.T) {
	const size = 100_000
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &pusher{Config: Config{Sources: []string{file}, SpoolDir: t.TempDir(), Events: func(Event) {}}}
	if err := p.scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer p.source.Close()
	p.content = manifest.NewLayout(manifest.ContentStream, p.source.Summary().Content, control.MinBlock)
	p.object = &object{hashers: map[manifest.Stream]*source.Hasher{manifest.ContentStream: source.NewHasher(p.source, nil, p.content)}}
	if err := p.hashAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g := (&clock{p: p}).progress(nil); g.Phase != "hash" || g.Done != size || g.Total != size {
		t.Errorf("%+v", g)
	}
}
