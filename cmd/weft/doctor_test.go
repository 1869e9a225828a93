package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/connect"
)

func TestDoctor(t *testing.T) {
	status, out, errs := weft("doctor")
	if status != 0 || errs != "" {
		t.Fatalf("status %d, %s%s", status, out, errs)
	}
	for _, want := range []string{"Providers\n", "ok       inproc", "ok       shm", "ok       tcp", "RDMA\n", "library", "What will be used\n", "to this host     shm", "to another host  " + anotherHost(),
		"kernel", "cores", "CPU quota", "open files", "locked memory", "memfd and seals", "userfaultfd", "abstract socket", "loopback IPv4",
		"loopback IPv6", "huge pages"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// anotherHost is what leads to another host from the machine that the tests run on.
func anotherHost() string {
	if lookAtRDMA("", "").usable() == nil {
		return "ibv"
	}
	return "tcp"
}

func TestDoctorSpeaksJSON(t *testing.T) {
	status, out, errs := weft("doctor", "--json")
	var r doctorReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 || errs != "" {
		t.Fatalf("status %d, %v in %s%s", status, err, out, errs)
	}
	if !r.Usable || r.Version == "" || r.SameHost.Why == "" || r.AnotherHost.Why == "" {
		t.Errorf("%+v", r)
	}
	checkFindings(t, slices.Concat(r.Providers, r.RDMA, r.System))
}

// checkFindings sees to it that each says something, in one line, and what to do if something is wrong.
func checkFindings(t *testing.T, found []finding) {
	t.Helper()
	for _, f := range found {
		switch wrong := f.State == warning || f.State == problem; {
		case f.Name == "" || f.Text == "":
			t.Errorf("an empty finding: %+v", f)
		case wrong != (f.Fix != ""), strings.Contains(f.Text+f.Fix, "\n"):
			t.Errorf("a finding without a remedy, or with one and well, or of several lines: %+v", f)
		}
	}
}

func TestDoctorWithNothingUsable(t *testing.T) {
	var out strings.Builder
	for _, asJSON := range []bool{false, true} {
		if err := printDoctor(&out, doctorReport{}, asJSON); err == nil {
			t.Error("it is content with nothing")
		}
	}
}

func TestChooseLanes(t *testing.T) {
	find := func(inproc, shm, ibv, tcp health) (found []finding) {
		for i, s := range []health{inproc, shm, ibv, tcp} {
			found = append(found, finding{Name: lanes[i].name, State: s})
		}
		return found
	}
	for _, c := range []struct {
		tried       []finding
		asked       string
		here, there string
		why         string // of the choice for this host
	}{
		{find(ok, ok, absent, ok), "", "shm", "tcp", "the best that works"},
		{find(ok, problem, absent, ok), "auto", "tcp", "tcp", "the best that works"},
		{find(ok, ok, absent, problem), "", "shm", "", "the best that works"},
		{find(ok, problem, absent, problem), "", "", "", "no lane that reaches there works"},
		{find(ok, ok, ok, ok), "", "shm", "ibv", "the best that works"},
		{find(ok, problem, ok, ok), "", "ibv", "ibv", "the best that works: RDMA"},
		{find(ok, ok, absent, ok), "ibv", "", "", "WEFT_PROVIDER asks for ibv, which does not work: see above"},
		{find(ok, ok, absent, ok), "tcp", "tcp", "tcp", "WEFT_PROVIDER asks for it"},
		{find(ok, ok, absent, problem), "tcp", "", "", "WEFT_PROVIDER asks for tcp, which does not work: see above"},
		{find(ok, ok, absent, ok), "shm", "shm", "", "WEFT_PROVIDER asks for it"},
		{find(ok, ok, absent, ok), "inproc", "", "", "WEFT_PROVIDER asks for inproc, which does not reach there"},
	} {
		here, there := chooseLanes(c.tried, c.asked)
		if here.Provider != c.here || there.Provider != c.there || !strings.Contains(here.Why, c.why) {
			t.Errorf("%+v: %+v and %+v", c, here, there)
		}
	}
	if lanes[0].reach != connect.SameProcess {
		t.Error("the first lane is not the one within a process")
	}
}

func TestDoctorRefusesADeviceThatIsNoName(t *testing.T) {
	t.Setenv("WEFT_DEVICE", "mlx5_0:first")
	status, out, errs := weft("doctor")
	if want := `weft: WEFT_DEVICE: "mlx5_0:first" is no RDMA device: write it as mlx5_0`; status != 2 || out != "" || !strings.HasPrefix(errs, want) {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}

func TestDoctorHeedsTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		asked  string
		status int
		says   string
	}{
		{"warp", 2, `WEFT_PROVIDER "warp": there are auto, inproc, shm, ibv, tcp`},
		{"inproc", 1, "to this host     none"},
		{"shm", 0, "to another host  none"},
	} {
		t.Setenv("WEFT_PROVIDER", c.asked)
		if status, out, errs := weft("doctor"); status != c.status || !strings.Contains(out+errs, c.says) {
			t.Errorf("%s: status %d, want %d with %q:\n%s%s", c.asked, status, c.status, c.says, out, errs)
		}
	}
}

// A provider that does not work says where to look, and there is something.
func TestDoctorPointsAtWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		system []finding
		says   string
	}{
		{nil, "nothing below explains it: report it"},
		{[]finding{{Name: "a", State: ok}}, "nothing below explains it: report it"},
		{[]finding{{Name: "a", State: warning}, {Name: "b", State: problem}, {Name: "c", State: ok}}, "see below: b, a"},
	} {
		providers := []finding{{Name: "shm", State: problem}, {Name: "tcp", State: ok}}
		pointAt(providers, c.system)
		if !strings.HasPrefix(providers[0].Fix, c.says) || providers[1].Fix != "" {
			t.Errorf("%+v: %+v", c.system, providers)
		}
	}
}

func TestCPUQuota(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if cores, found := cpuQuota("0::/a/b\n", root); found {
		t.Errorf("a limit of %v out of nothing", cores)
	}
	write("cpu/cpu.cfs_quota_us", "150000\n")
	write("cpu/cpu.cfs_period_us", "100000\n")
	if cores, found := cpuQuota("4:cpu:/x\n", root); !found || cores != 1.5 {
		t.Errorf("version 1: %v, %v", cores, found)
	}
	write("a/cpu.max", "50000 100000\n")
	write("a/b/cpu.max", "max 100000\n")
	if cores, found := cpuQuota("0::/a/b\n", root); !found || cores != 0.5 {
		t.Errorf("the parent's: %v, %v", cores, found)
	}
	for _, text := range []string{"", "max 100000", "-1 100000", "5", "5 0", "x y", "NaN 1", "1 2 3"} {
		if cores, found := parseQuota(text); found {
			t.Errorf("%q is a limit of %v", text, cores)
		}
	}
}
