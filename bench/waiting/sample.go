package waiting

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"

	"github.com/weft-fabric/weft/bench/contest"
)

// sample is what one start of weft multicast has shown.
type sample struct {
	rate  float64 // bytes a second that each member received, the median of the runs
	perGB float64 // processor seconds of all members for each 10⁹ bytes of message
	cores float64 // that the members kept busy
}

// castReport is what is wanted of what weft multicast says.
type castReport struct {
	Provider string  `json:"provider"`
	Size     float64 `json:"size"`
	Results  []struct {
		WarmUp   bool    `json:"warm_up"`
		Seconds  float64 `json:"seconds"`
		CPU      float64 `json:"cpu_seconds"`
		Verified bool    `json:"verified"`
	} `json:"results"`
}

// take runs weft multicast and reads what it says.
func take(root *exec.Cmd, provider string) (sample, error) {
	said, err := root.Output()
	if err != nil {
		var ended *exec.ExitError
		if errors.As(err, &ended) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(ended.Stderr))
		}
		return sample{}, fmt.Errorf("weft multicast: %w", err)
	}
	var r castReport
	if err := json.Unmarshal(said, &r); err != nil {
		return sample{}, fmt.Errorf("weft multicast says no JSON: %w", err)
	}
	if r.Provider != provider {
		return sample{}, fmt.Errorf("weft multicast went over %q, not %s", r.Provider, provider)
	}
	return r.sample()
}

// sample sums the runs that count.
func (r *castReport) sample() (sample, error) {
	var times []float64
	var cpu, sum float64
	for _, run := range r.Results {
		switch {
		case run.WarmUp:
			continue
		case !run.Verified || !(run.Seconds > 0):
			return sample{}, errors.New("weft multicast has a run without a result")
		}
		times = append(times, run.Seconds)
		sum += run.Seconds
		cpu += run.CPU
	}
	if len(times) == 0 || !(r.Size > 0) {
		return sample{}, errors.New("weft multicast has no result")
	}
	if cpu == 0 {
		return sample{}, errors.New("weft multicast tells no processor time: it is older than this program")
	}
	return sample{rate: r.Size / contest.Median(times), perGB: cpu / (r.Size * float64(len(times))) * 1e9, cores: cpu / sum}, nil
}
