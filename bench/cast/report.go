package cast

import (
	"slices"
	"time"
)

// Report is what a job has shown, for programs.
type Report struct {
	Job
	Provider   string   `json:"provider"` // the lane that was really used
	Simulated  bool     `json:"simulated"`
	Phantom    bool     `json:"phantom"` // simulated memory that keeps the origin of its bytes instead of them
	Hosts      []string `json:"hosts,omitempty"`
	Clock      string   `json:"clock"` // by which runs were timed: one of the Clock words
	Blocks     int      `json:"blocks"`
	Steps      int      `json:"steps"`            // of the algorithm
	BoundSteps int      `json:"bound_steps"`      // of the best possible
	Cores      int      `json:"cores,omitempty"`  // that all members share; 0: they are not all on the root's host
	Chosen     *Chosen  `json:"chosen,omitempty"` // nil: the job left nothing open
	Copy       *Copy    `json:"copy,omitempty"`
	Results    []Run    `json:"results"` // with the one that warmed up
	Median     *Run     `json:"median,omitempty"`
	Spread     *Spread  `json:"spread,omitempty"`
	Simulation
}

// Simulation is what only a simulated job has.
type Simulation struct {
	Fabric     *Fabric `json:"fabric,omitempty"`
	CrossRack  int     `json:"cross_rack_blocks,omitempty"` // blocks that went from one rack to another, in one run
	Events     uint64  `json:"events,omitempty"`            // of the simulator, in all runs
	Wall       float64 `json:"wall_seconds,omitempty"`      // that the simulation took, in real time
	PeakMemory uint64  `json:"peak_memory_bytes,omitempty"` // that the process had meanwhile
}

// The clocks.
const (
	ClockHost    = "the host's, read by every member"
	ClockRoot    = "the root's, when a member's report came"
	ClockVirtual = "virtual"
)

// Copy is the plain copy that runs are compared with.
type Copy struct {
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"bytes_per_second"`
}

// Run is one multicast. The median has the medians of what the runs have.
type Run struct {
	WarmUp     bool      `json:"warm_up,omitempty"` // does not count
	Seconds    float64   `json:"seconds"`           // from the submission to the last completion
	Rate       float64   `json:"bytes_per_second"`  // that each member received
	Skew       float64   `json:"skew_seconds"`      // between the first and the last receiver
	Efficiency float64   `json:"efficiency,omitempty"`
	CPU        float64   `json:"cpu_seconds,omitempty"`        // of the processors, by all members; not in the simulator
	Members    []float64 `json:"member_seconds,omitempty"`     // when each was done, the root first
	MemberCPU  []float64 `json:"member_cpu_seconds,omitempty"` // of each, the root first
	Verified   bool      `json:"verified"`
}

// Spread is between which times the runs lie.
type Spread struct {
	Min float64 `json:"min_seconds"`
	Max float64 `json:"max_seconds"`
}

// WarmUps reports whether the first run does not count.
func (r *Report) WarmUps() bool { return r.Runs > 1 }

// newReport describes a job that is about to begin.
func newReport(job *Job, provider, clock string) *Report {
	r := &Report{Job: *job, Provider: provider, Clock: clock, Blocks: job.Blocks(), BoundSteps: job.BoundSteps(), Results: []Run{}}
	r.Steps, _ = job.Steps() // the group has taken the shape
	return r
}

// ideal is how long the best schedule would take, in seconds; 0 if that is not known.
func (r *Report) ideal() float64 {
	one := 0.0
	switch {
	case r.Copy != nil:
		one = r.Copy.Seconds
	case r.Rate > 0:
		one = float64(r.Size) * 8 / r.Rate
	}
	return max(one*float64(r.BoundSteps)/float64(r.Blocks), r.Shared())
}

// Shared is how long the cores of one host take at least to make a copy for each receiver, in seconds, if one core makes a
// copy as fast as the plain one; 0 if members do not share them, or nothing was copied.
func (r *Report) Shared() float64 {
	receivers := len(r.Members) - 1
	if r.Cores == 0 || r.Copy == nil {
		return 0
	}
	return r.Copy.Seconds * float64(receivers) / float64(min(r.Cores, receivers))
}

// plainCopy takes down how long the copy took.
func (r *Report) plainCopy(took time.Duration) {
	r.Copy = &Copy{Seconds: took.Seconds(), Rate: rate(r.Size, took.Seconds())}
}

func rate(size uint64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(size) / seconds
}

// cost is what a run took of a member.
type cost struct {
	time time.Duration // from the submission until the message was complete there
	cpu  time.Duration // processor time of its process
}

// add takes down a run: what it took of each member, the root first.
func (r *Report) add(took []cost, warmUp bool) Run {
	run := Run{WarmUp: warmUp, Verified: true}
	for _, t := range took {
		run.Members = append(run.Members, t.time.Seconds())
		if !r.Simulated {
			run.CPU += t.cpu.Seconds()
			run.MemberCPU = append(run.MemberCPU, t.cpu.Seconds())
		}
	}
	run.Seconds = slices.Max(run.Members)
	run.Skew = slices.Max(run.Members[1:]) - slices.Min(run.Members[1:])
	run.Rate = rate(r.Size, run.Seconds)
	if run.Seconds > 0 {
		run.Efficiency = r.ideal() / run.Seconds
	}
	r.Results = append(r.Results, run)
	r.summarize()
	return run
}

// summarize computes the median and the spread of the runs that count.
func (r *Report) summarize() {
	counted := slices.DeleteFunc(slices.Clone(r.Results), func(run Run) bool { return run.WarmUp })
	if len(counted) == 0 {
		return
	}
	of := func(value func(Run) float64) []float64 {
		var all []float64
		for _, run := range counted {
			all = append(all, value(run))
		}
		slices.Sort(all)
		return all
	}
	times := of(func(run Run) float64 { return run.Seconds })
	r.Spread = &Spread{times[0], times[len(times)-1]}
	r.Median = &Run{Verified: true, Seconds: median(times), Rate: median(of(func(run Run) float64 { return run.Rate })),
		Skew: median(of(func(run Run) float64 { return run.Skew })), CPU: median(of(func(run Run) float64 { return run.CPU })),
		Efficiency: median(of(func(run Run) float64 { return run.Efficiency }))}
}

// median of values in order.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
