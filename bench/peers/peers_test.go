package peers

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/bench/pinned"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) {
	pinned.Main(Roles())
	leaktest.Main(m)
}

// sample is what ucx_perftest 1.13.1 prints, with a warning before it.
const sample = `[1731652800.1] [host:1:0] ucp_context.c:1 UCX WARN something
iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr
1000000,0.118,0.116,0.117,65.78,65.79,8621917,8621918
`

func TestUCXColumn(t *testing.T) {
	for _, c := range []struct {
		name, output, column string
		want                 float64
		fails                bool
	}{
		{"latency", sample, "overall_lat", 0.117, false},
		{"rate", sample, "overall_mr", 8621918, false},
		{"no such column", sample, "typical", 0, true},
		{"nothing", "", "overall_lat", 0, true},
		{"names without numbers", "iterations,overall_lat\n", "overall_lat", 0, true},
		{"fewer numbers than names", "iterations,overall_lat\n1000\n", "overall_lat", 0, true},
		{"no number", "iterations,overall_lat\n1000,fast\n", "overall_lat", 0, true},
		{"numbers first", "1000,1\niterations,overall_lat\n1000,2\n", "overall_lat", 2, false},
	} {
		got, err := ucxColumn(c.output, c.column)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}

// tables are what perftest 4.5 prints, shortened.
const (
	latencyTable = ` #bytes #iterations    t_min[cycles]    t_max[cycles]  t_typical[cycles]    t_avg[cycles]
 8       1000          31655.00        17031638.00      32773.00  	       1568697.35
`
	bandwidthTable = ` #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      300              41.29              40.95  		   0.000655
`
)

func TestPerftestColumn(t *testing.T) {
	for _, c := range []struct {
		output       string
		size, column int
		want         float64
	}{
		{latencyTable, 8, 4, 32773}, {bandwidthTable, 65536, 3, 40.95}, {latencyTable, 16, 4, 0}, {latencyTable, 8, 9, 0},
		{"", 8, 4, 0}, {"8 1000 a b c d\n", 8, 4, 0}, {"8 1000 1 1 0.00 1\n", 8, 4, 0},
	} {
		if got, err := perftestColumn(c.output, c.size, c.column); got != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%q, column %d: %v, %v", c.output, c.column, got, err)
		}
	}
}

func FuzzPerftestColumn(f *testing.F) {
	f.Add(latencyTable, 8, uint8(4))
	f.Fuzz(func(t *testing.T, output string, size int, column uint8) {
		_, _ = perftestColumn(output, size, int(column))
	})
}

func FuzzUCXColumn(f *testing.F) {
	f.Add(sample, "overall_lat")
	f.Fuzz(func(t *testing.T, output, column string) { _, _ = ucxColumn(output, column) })
}

// TestEveryPeerRuns takes one small sample of each: a number that is above zero.
func TestEveryPeerRuns(t *testing.T) {
	if _, _, err := pinned.Cores(); err != nil {
		t.Skip(err)
	}
	for name, measure := range map[string]func() (float64, error){
		"copy":           func() (float64, error) { return Copy(1<<20, 10) },
		"cache line":     func() (float64, error) { return CacheLine(1000) },
		"TCP stream":     func() (float64, error) { return TCPStream(1<<16, 10) },
		"TCP ping-pong":  func() (float64, error) { return TCPPingPong(8, 10) },
		"ping-pong tcp":  func() (float64, error) { return PingPong("tcp", 8, 10) },
		"ping-pong unix": func() (float64, error) { return PingPong("unix", 8, 10) },
	} {
		if got, err := measure(); got <= 0 || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestUCXRuns(t *testing.T) {
	if _, err := exec.LookPath("ucx_perftest"); err != nil {
		t.Skip("UCX is not installed")
	}
	if _, _, err := pinned.Cores(); err != nil {
		t.Skip(err)
	}
	for _, u := range []UCX{
		{Test: "am_lat", Transport: "posix", Size: 8, Count: 1000},
		{Test: "tag_lat", Transport: "tcp", Size: 8, Count: 100},
	} {
		if got, err := u.Latency(); got <= 0 || err != nil {
			t.Errorf("%+v: %v, %v", u, got, err)
		}
	}
	if got, err := (UCX{Test: "am_bw", Transport: "posix", Size: 8, Count: 1000}).Rate(); got <= 0 || err != nil {
		t.Errorf("am_bw: %v, %v", got, err)
	}
	_, err := UCX{Test: "nonsense", Transport: "posix", Size: 8, Count: 1000}.Rate()
	if err == nil || !strings.Contains(err.Error(), "-t nonsense") {
		t.Errorf("a test that does not exist: %v", err)
	}
}

func TestBcastTimes(t *testing.T) {
	const one = "took 2000000000 ns, of the processors 500000000 ns\n"
	got, cpu, err := BcastTimes("a warning\n"+one+"took 1500000000 ns, of the processors 250000000 ns\n", 2)
	if err != nil || !slices.Equal(got, []float64{2, 1.5}) || !slices.Equal(cpu, []float64{0.5, 0.25}) {
		t.Errorf("%v, %v, %v", got, cpu, err)
	}
	for _, bad := range []string{"", one, one + "took x ns, of the processors 1 ns\n", one + "took 1 ns\n", one + one + one} {
		if _, _, err := BcastTimes(bad, 2); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestEveryWayOfMPIIsTriedOnce(t *testing.T) {
	for _, ways := range [][]Bcast{BcastsInSharedMemory(), BcastsOverTCP()} {
		seen := map[string]bool{}
		for _, way := range ways {
			if seen[way.String()] {
				t.Errorf("twice: %s", way)
			}
			seen[way.String()] = true
		}
	}
}

func FuzzBcastTimes(f *testing.F) {
	f.Add("took 2000000000 ns, of the processors 500000000 ns\n", 1)
	f.Fuzz(func(t *testing.T, text string, repeats int) {
		seconds, cpu, err := BcastTimes(text, repeats)
		if err == nil && (len(seconds) != repeats || len(cpu) != repeats) {
			t.Errorf("%d times and %d costs, not %d", len(seconds), len(cpu), repeats)
		}
	})
}
