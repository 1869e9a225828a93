package push

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
)

// newTestClock is a clock of a push of a mebibyte in 16 blocks, with a manifest of two.
func newTestClock() *clock {
	p := &pusher{Config: Config{StallTimeout: 10 * time.Second}}
	p.stage.Store("send")
	list, content := manifest.NewLayout(manifest.ManifestStream, 2<<16, 1<<16), manifest.NewLayout(manifest.ContentStream, 1<<20, 1<<16)
	p.bounds.Store(newBounds(manifest.Summary{Entries: 100, Disk: 1 << 20}, 1<<20, list, content))
	return &clock{p: p, moved: time.Now(), most: make(map[*host]uint64)}
}

// lasts is after how many ticks nobody has got on for too long, while a host says something else at each; 0: it goes on.
func (c *clock) lasts(ticks int, say func(tick int, s *control.Status)) int {
	v := view{host: &host{}, alive: true}
	for tick := range ticks {
		time.Sleep(time.Second)
		say(tick, &v.status)
		if c.stalled([]view{v}) {
			return tick + 1
		}
	}
	return 0
}

// Words alone do not keep a push from its end: what a host says counts when it is more than before, up to what there is to do.
func TestWordsThatHaveNoEnd(t *testing.T) {
	for name, say := range map[string]func(int, *control.Status){
		"sent":             func(tick int, s *control.Status) { s.Sent = uint64(tick) << 30 },
		"received":         func(tick int, s *control.Status) { s.Received = uint64(tick) << 20 },
		"single bytes":     func(tick int, s *control.Status) { s.Received, s.Examined = uint64(tick), uint64(tick) },
		"looked":           func(tick int, s *control.Status) { s.Looked = uint64(tick) << 4 },
		"examined":         func(tick int, s *control.Status) { s.Examined = uint64(tick) << 18 },
		"copied":           func(tick int, s *control.Status) { s.Moved = uint64(tick) << 18 },
		"written":          func(tick int, s *control.Status) { s.Disk.Bytes = uint64(tick) << 20 },
		"named":            func(tick int, s *control.Status) { s.Named = uint64(tick) << 3 },
		"have":             func(tick int, s *control.Status) { s.Have = tick },
		"more, then fewer": func(tick int, s *control.Status) { s.Have = 5 + tick%2 },
	} {
		synctest.Test(t, func(t *testing.T) {
			if newTestClock().lasts(100, say) == 0 {
				t.Errorf("%s: the push waits for ever", name)
			}
		})
	}
}

// What takes long and gets on is not ended.
func TestLongWorkGetsOn(t *testing.T) {
	for name, say := range map[string]func(int, *control.Status){
		"the manifest comes":    func(tick int, s *control.Status) { s.Received = uint64(tick) << 13 },
		"it looks at names":     func(tick int, s *control.Status) { s.Looked = uint64(tick) / 5 },
		"it examines":           func(tick int, s *control.Status) { s.Examined = uint64(tick) << 13 },
		"it copies":             func(tick int, s *control.Status) { s.Moved = uint64(tick) << 13 },
		"it compares again":     func(tick int, s *control.Status) { s.Moved = uint64(tick) * 50_000 },
		"it writes":             func(tick int, s *control.Status) { s.Have = tick / 8 },
		"files get their names": func(tick int, s *control.Status) { s.Named = uint64(tick) },
	} {
		synctest.Test(t, func(t *testing.T) {
			if after := newTestClock().lasts(100, say); after != 0 {
				t.Errorf("%s: it is ended after %d s", name, after)
			}
		})
	}
}

// What begins has all the time that it may take, however long nobody got on before, and what each host does by itself at the end has more.
func TestEveryStageHasItsTime(t *testing.T) {
	for stage, patience := range map[string]time.Duration{"send": 10 * time.Second, "commit": 100 * time.Second, "differ": 100 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c := newTestClock()
			c.p.stage.Store("examine")
			if c.look(); c.lasts(9, func(int, *control.Status) {}) != 0 {
				t.Fatal("it is ended too early")
			}
			c.p.stage.Store(stage)
			c.look()
			if after := c.lasts(200, func(int, *control.Status) {}); time.Duration(after)*time.Second != patience {
				t.Errorf("%s: it is ended after %d s, and not after %v", stage, after, patience)
			}
		})
	}
}
