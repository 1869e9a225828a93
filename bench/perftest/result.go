package perftest

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what a run has given.
type Result struct {
	Run
	Messages int64   `json:"messages"` // of all threads, without those of the warm-up
	Seconds  float64 `json:"seconds"`
	Latency  *Spread `json:"latency_us,omitempty"` // of a Latency run
	Rate     *Rate   `json:"rate,omitempty"`       // of a Bandwidth run
	CPU      CPU     `json:"cpu_ns_per_message"`
	Verified bool    `json:"verified,omitempty"` // the target's bytes were compared, and were right; latency compares none
	Partial  bool    `json:"partial"`            // interrupted before its end
}

// Spread is the distribution of a latency, in microseconds.
type Spread struct {
	Kind  string  `json:"kind"`  // "half round trip" or "post to completion"
	Batch int     `json:"batch"` // messages that a sample is the mean of
	Count int64   `json:"samples"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99,omitempty"`   // zero: of fewer than 100 samples it would mean nothing
	P999  float64 `json:"p99_9,omitempty"` // zero: of fewer than 1,000 samples it would mean nothing
	Max   float64 `json:"max"`
}

// Rate is how much went through. A gigabyte is 10⁹ bytes.
type Rate struct {
	GigabytesPerSecond float64 `json:"gigabytes_per_second"`
	MessagesPerSecond  float64 `json:"messages_per_second"`
}

// CPU is the processor time of either process for a message, in nanoseconds. If both sides are in one process, it is
// for both together.
type CPU struct {
	Client float64 `json:"client,omitempty"`
	Server float64 `json:"server,omitempty"`
	Both   float64 `json:"both,omitempty"`
}

// What the histogram can hold: a sample of up to 100 s, with three digits.
const (
	longestSample = int64(100 * time.Second)
	digits        = 3
)

// NewHistogram makes one for samples in nanoseconds.
func NewHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, longestSample, digits) }

// NewSpread reads a histogram of batches. Each message of a batch took parts of a sample: one, or both ways of a ping-pong.
func NewSpread(h *hdrhistogram.Histogram, run Run, batch int) *Spread {
	s := &Spread{Kind: "post to completion", Batch: batch, Count: h.TotalCount()}
	parts := float64(batch)
	if run.Operation.PingPong() {
		s.Kind = "half round trip"
		parts *= 2
	}
	micros := func(nanoseconds float64) float64 { return nanoseconds / parts / 1e3 }
	s.Mean = micros(h.Mean())
	s.P50 = micros(float64(h.ValueAtQuantile(50)))
	if s.Count >= 100 {
		s.P99 = micros(float64(h.ValueAtQuantile(99)))
	}
	if s.Count >= 1000 {
		s.P999 = micros(float64(h.ValueAtQuantile(99.9)))
	}
	s.Max = micros(float64(h.Max()))
	return s
}

func rate(run Run, messages int64, seconds float64) *Rate {
	return &Rate{float64(messages) * float64(run.Size) / seconds / 1e9, float64(messages) / seconds}
}

// String is for errors and tests: the row's name.
func (r Run) String() string { return fmt.Sprintf("%v %v %v", r.Operation, r.Measure, r.Size) }
