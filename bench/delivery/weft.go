package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
)

const weftPort = "7471"

// Weft is weft multicast by an algorithm, in blocks of so many bytes; 0: it chooses them itself.
func Weft(algorithm string, block int) Contestant {
	name := "weft " + algorithm
	if block > 0 {
		name += fmt.Sprintf(", %d KiB blocks", block>>10)
	}
	return Contestant{Name: name, Kind: KindWeft, deliver: func(ctx context.Context, d *Delivery) (Sample, error) {
		return d.weft(ctx, algorithm, block)
	}}
}

func (d *Delivery) weft(ctx context.Context, algorithm string, block int) (s Sample, err error) {
	for host := range d.network.Hosts() {
		if host == 0 {
			continue
		}
		address := net.JoinHostPort(d.network.Address(host), weftPort)
		p, err := d.start(ctx, host, d.self, "multicast", "--json", "--plain", "--serve", address)
		if err == nil {
			err = p.hear(ctx, "listening", 1)
		}
		if err != nil {
			return s, err
		}
	}
	line := []string{"multicast", "--json", "--provider", "tcp", "--plain", "--rate", d.text, "--algorithm", algorithm,
		"--size", strconv.Itoa(d.Bytes), "--repeat", strconv.Itoa(d.Repeats), "--members", d.at(weftPort)}
	if block > 0 {
		line = append(line, "--block", strconv.Itoa(block))
	}
	var said bytes.Buffer
	root := d.network.Command(ctx, 0, d.self, line...)
	root.Stdout = &said
	p, err := d.startCommand(root)
	if err == nil {
		err = p.wait()
	}
	if err != nil {
		return s, err
	}
	return ParseReport(said.Bytes(), "tcp")
}

// ParseReport finds the median in what weft multicast says.
func ParseReport(text []byte, provider string) (s Sample, err error) {
	var report struct {
		Provider string  `json:"provider"`
		Blocks   float64 `json:"blocks"`
		Bound    float64 `json:"bound_steps"`
		Median   *struct {
			Seconds  float64 `json:"seconds"`
			Skew     float64 `json:"skew_seconds"`
			CPU      float64 `json:"cpu_seconds"`
			Verified bool    `json:"verified"`
		} `json:"median"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return s, fmt.Errorf("weft multicast: %w", err)
	}
	m := report.Median
	switch {
	case report.Provider != provider:
		return s, fmt.Errorf("weft multicast went over %q, not %s", report.Provider, provider)
	case m == nil || m.Seconds <= 0 || m.Skew < 0 || m.CPU < 0 || !m.Verified || report.Blocks < 1:
		return s, errors.New("weft multicast has no result")
	}
	return Sample{Seconds: m.Seconds, Skew: m.Skew, CPU: m.CPU, Bound: report.Bound / report.Blocks}, nil
}
