package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/rig/links/network"
)

const (
	weftLimit = 3 * time.Minute
	weftPort  = "7471"
)

// onHost is the median of several multicasts between processes of this host, in milliseconds.
func onHost(weft, provider string, repeats int) (float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), weftLimit)
	defer cancel()
	c := exec.CommandContext(ctx, weft, arguments(repeats, "--provider", provider, "--local", strconv.Itoa(hostMembers))...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	seconds, err := castTime(c, provider)
	return 1e3 * seconds, err
}

// onLinks is how long one multicast from the first host to all others takes, in seconds.
func onLinks(weft string, n *network.Network, algorithm string) (seconds float64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), weftLimit)
	defer cancel()
	var members []string
	var servers []*server
	for host := 1; host < n.Hosts() && err == nil; host++ {
		address := net.JoinHostPort(n.Address(host), weftPort)
		members = append(members, address)
		var s *server
		if s, err = startAndHear(n.Command(ctx, host, weft, "multicast", "--json", "--plain", "--serve", address), "listening"); err == nil {
			servers = append(servers, s)
		}
	}
	if err == nil {
		root := n.Command(ctx, 0, weft, arguments(1, "--provider", "tcp", "--plain", "--rate", linkRate, "--algorithm", algorithm,
			"--members", strings.Join(members, ","))...)
		seconds, err = castTime(root, "tcp")
	}
	if err != nil {
		cancel() // the others would wait for ever
	}
	for _, s := range servers {
		err = errors.Join(err, s.wait())
	}
	return seconds, err
}

func arguments(repeats int, more ...string) []string {
	return append([]string{"multicast", "--json", "--size", strconv.Itoa(messageBytes), "--repeat", strconv.Itoa(repeats)}, more...)
}

// castTime runs the root of a multicast and returns the median of its times, in seconds.
func castTime(root *exec.Cmd, provider string) (float64, error) {
	said, err := root.Output()
	if err != nil {
		return 0, fmt.Errorf("weft multicast: %w", explained(err))
	}
	return castResult(said, provider)
}

// castResult finds the time in what weft multicast says.
func castResult(text []byte, provider string) (float64, error) {
	var report struct {
		Provider string `json:"provider"`
		Median   *struct {
			Seconds  float64 `json:"seconds"`
			Verified bool    `json:"verified"`
		} `json:"median"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return 0, fmt.Errorf("weft multicast: %w", err)
	}
	switch {
	case report.Provider != provider:
		return 0, fmt.Errorf("weft multicast went over %q, not %s", report.Provider, provider)
	case report.Median == nil || report.Median.Seconds <= 0 || !report.Median.Verified:
		return 0, errors.New("weft multicast has no result")
	}
	return report.Median.Seconds, nil
}
