package cast

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// someJob is a job that can be done.
func someJob(members int) *Job {
	j := &Job{Size: 1 << 20, Block: 64 << 10, Stripes: 1, Credits: 2, Runs: 1, Timeout: 5 * time.Second, Seed: 1}
	for i := range members {
		j.Members = append(j.Members, "m"+string(rune('a'+i%26))+strings.Repeat("x", i/26))
	}
	return j
}

func TestJobsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		change func(*Job)
		says   string
	}{
		{func(j *Job) { j.Members = j.Members[:1] }, "members: 1"},
		{func(j *Job) { j.Block = 1 }, "block size: 1"},
		{func(j *Job) { j.Block = 1 << 40 }, "block size"},
		{func(j *Job) { j.Size = 1 << 60 }, "size"},
		{func(j *Job) { j.Stripes = -2 }, "stripes: -2"},
		{func(j *Job) { j.Credits = -1 }, "credits: -1"},
		{func(j *Job) { j.Runs = 1 << 30 }, "runs"},
		{func(j *Job) { j.Timeout = -1 }, "peer timeout"},
		{func(j *Job) { j.Rate = math.NaN() }, "rate"},
		{func(j *Job) { j.Racks = []int{4} }, "racks: pipeline makes no sense with them"},
		{func(j *Job) { j.Algorithm.Algorithm = schedule.RackChain; j.Racks = []int{2, 1} }, "racks: 3 members in all makes no sense: the group has 4"},
		{func(j *Job) { j.Algorithm.Algorithm = schedule.RackChain; j.Racks = []int{5, -1} }, "racks: one of -1 members"},
	} {
		j := someJob(4)
		c.change(j)
		if err := j.Validate(); !errors.Is(err, ErrJob) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v; want %q", err, c.says)
		}
	}
	if err := someJob(4).Validate(); err != nil {
		t.Error(err)
	}
}

// RDMC, section 4.3: no schedule takes fewer than k + ⌈log₂ n⌉ − 1 steps.
func TestBound(t *testing.T) {
	for members, want := range map[int]int{2: 16, 3: 17, 4: 17, 5: 18, 8: 18, 9: 19} {
		if got := someJob(members).BoundSteps(); got != want {
			t.Errorf("%d members: %d steps, want %d", members, got, want)
		}
	}
}

// TestMostBlock: two blocks under way over TCP must not keep a slow link busy for long.
func TestMostBlock(t *testing.T) {
	for _, c := range []struct {
		lane string
		rate float64
		want int
	}{{"shm", 1e6, 1 << 20}, {"ibv", 400e9, 1 << 20}, {"tcp", 200e6, 60 << 10}, {"tcp", 400e6, 68 << 10}, {"tcp", 1e9, 168 << 10}, {"tcp", 20e9, 2 << 20},
		{"tcp", 1e15, 2 << 20}, {"tcp", 1, 60 << 10}} {
		if got := mostBlock(c.lane, Links{Rate: c.rate}); got != c.want {
			t.Errorf("%s, rate %g: %d, want %d", c.lane, c.rate, got, c.want)
		}
	}
}

func TestReport(t *testing.T) {
	j := someJob(4)
	j.Runs = 3
	r := newReport(j, "shm", ClockHost)
	r.plainCopy(16 * time.Millisecond) // a step takes 1 ms, and 17 are needed
	ms := time.Millisecond
	r.add([]cost{{99 * ms, ms}, {99 * ms, ms}, {99 * ms, ms}, {99 * ms, ms}}, true)
	for _, last := range []time.Duration{34, 17, 20} {
		r.add([]cost{{10 * ms, 5 * ms}, {12 * ms, ms}, {last * ms, last * ms}, {15 * ms, 0}}, false)
	}
	if m := r.Median; math.Abs(m.CPU-0.026) > 1e-9 || !slices.Equal(r.Results[1].MemberCPU, []float64{0.005, 0.001, 0.034, 0}) {
		t.Errorf("processor time: %+v", r)
	}
	if m := r.Median; m.Seconds != 0.020 || math.Abs(m.Efficiency-0.85) > 1e-9 || math.Abs(m.Skew-0.008) > 1e-9 || math.Abs(m.Rate-1<<20/0.020) > 1 {
		t.Errorf("%+v", m)
	}
	if *r.Spread != (Spread{0.017, 0.034}) || len(r.Results) != 4 {
		t.Errorf("%+v", r)
	}
}

// What few cores do for many members is more than one copy, and what many do is the schedule's time.
func TestReportOfOneHost(t *testing.T) {
	for cores, want := range map[int]float64{0: 0.017, 1: 0.048, 2: 0.024, 3: 0.017, 64: 0.017} {
		r := newReport(someJob(4), "shm", ClockHost)
		r.Cores = cores
		if r.Shared() != 0 {
			t.Errorf("%d cores: %v s of no copy", cores, r.Shared())
		}
		r.plainCopy(16 * time.Millisecond) // a step takes 1 ms, and 17 are needed
		if got := r.ideal(); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d cores: %v s at best, want %v", cores, got, want)
		}
	}
}

// FuzzParseWord: whatever another process says, what is taken from it makes sense.
func FuzzParseWord(f *testing.F) {
	for _, w := range []word{{}, {Job: someJob(3), Rank: 2}, {Error: "no", Lane: "tcp"}, {Addresses: []string{"a:1"}, At: 7}, {Job: openJob(3), Rank: 1}, {Choice: &Choice{Block: 7}}} {
		note, err := json.Marshal(w)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(note)
	}
	f.Fuzz(func(t *testing.T, note []byte) {
		w, err := parseWord(note)
		if err == nil && w.Choice != nil {
			if job := openJob(3); job.take(*w.Choice) == nil && (job.undecided() || job.Validate() != nil) {
				t.Fatalf("%s makes a job of %+v", note, job)
			}
		}
		if err != nil || w.Job == nil {
			return
		}
		if err := w.Job.Validate(); err != nil || w.Rank < 1 || w.Rank >= len(w.Job.Members) {
			t.Fatalf("%s is rank %d of %+v, %v", note, w.Rank, w.Job, err)
		}
	})
}

// Nothing that another process says plays tricks on the terminal.
func TestWordsArePrintable(t *testing.T) {
	job := someJob(2)
	job.Members[1] = "\x1b[2J"
	for _, w := range []word{{Host: "a\nb"}, {Addresses: []string{"a:1", "\x07"}}, {Job: job, Rank: 1}, {CPU: -1}, {Lane: strings.Repeat("x", maxText+1)}} {
		note, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		if w, err := parseWord(note); err == nil {
			t.Errorf("%+v was taken", w)
		}
	}
	w, err := parseWord([]byte(`{"error":"a\u001b[31mb"}`))
	if err != nil || w.Error != "a [31mb" {
		t.Errorf("%q, %v", w.Error, err)
	}
}
