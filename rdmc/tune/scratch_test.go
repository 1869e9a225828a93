package tune

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

func TestScratch(t *testing.T) {
	type cand struct {
		Choice
		took, pred int64
	}
	type key struct {
		n         int
		size      uint64
		rate      float64
		msg, lat  int64
	}
	points := map[key][]cand{}
	for _, name := range os.Args[1:] {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		sc := bufio.NewScanner(f)
		for sc.Scan() {
			var k key
			var c cand
			var alg string
			var pace int64
			if n, _ := fmt.Sscan(sc.Text(), &k.n, &k.size, &k.rate, &k.msg, &k.lat, &alg, &c.Block, &c.Stripes, &c.Credits, &pace, &c.took); n < 11 {
				continue
			}
			c.Algorithm, _ = schedule.ParseAlgorithm(alg)
			c.Pace = time.Duration(pace)
			points[k] = append(points[k], c)
		}
	}
	var out []string
	over := 0
	for k, cs := range points {
		best := int64(1 << 62)
		var bestc, pick cand
		pick.pred = 1 << 62
		for _, c := range cs {
			if c.Pace == 0 && c.took < best {
				best, bestc = c.took, c
			}
			blocks := int(k.size) / c.Block
			s := min(c.Stripes, blocks)
			ok := false
			switch {
			case c.Algorithm == schedule.Chain:
				ok = c.Credits == c.Stripes+1 || c.Stripes == 1 && c.Credits==2 || c.Stripes==3
			case s == 1:
				ok = c.Algorithm == schedule.Pipeline && (c.Credits == 1 || blocks == 1)
			case c.Pace > 0:
				ok = c.Algorithm == schedule.Circulant
			case blocks == 2:
				ok = c.Algorithm == schedule.Pipeline && c.Credits <= 3
			}
			if !ok {
				continue
			}
			c.pred = int64(Predict(Group{Members: k.n, Size: k.size}, Network{Rate: k.rate, Latency: 1135 + time.Duration(k.lat), Message: time.Duration(max(k.msg, 7))}, c.Choice))
			if c.Pace > 0 {
				c.pred = int64(float64(c.pred) * (1.08 + 0.15*sq(min(1,2*float64(k.msg)/float64(c.Pace)))))
			}
			if c.pred < pick.pred {
				pick = c
			}
		}
		r := float64(pick.took) / float64(best)
		if r > 1.05 {
			over++
		}
		out = append(out, fmt.Sprintf("%.3f %v picked %v %v k%d s%d c%d took %d pred %d; best %v %d s%d c%d %d", r, k, pick.Algorithm, pick.Block, int(k.size)/pick.Block, pick.Stripes, pick.Credits, pick.took, pick.pred, bestc.Algorithm, bestc.Block, bestc.Stripes, bestc.Credits, best))
	}
	sort.Sort(sort.Reverse(sort.StringSlice(out)))
	for _, o := range out[:min(25, len(out))] {
		fmt.Println(o)
	}
	fmt.Println(len(out), over)
}

func sq(x float64) float64 { return x * x }
