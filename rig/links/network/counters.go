package network

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Received is how many bytes have arrived at each host by its link, since the network was made: with all headers, and also
// what no process has asked for.
func (n *Network) Received() ([]uint64, error) {
	text, err := os.ReadFile("/proc/" + n.switches.pid() + "/net/dev")
	if err != nil {
		return nil, err
	}
	return parseSent(string(text), len(n.hosts))
}

// parseSent reads what the ports of the switches have sent, from the kernel's table of devices.
func parseSent(table string, ports int) ([]uint64, error) {
	const sentBytes = 8 // the column behind the name
	sent, found := make([]uint64, ports), 0
	for line := range strings.Lines(table) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		number, isPort := strings.CutPrefix(name, "port")
		port, err := strconv.Atoi(number)
		columns := strings.Fields(rest)
		if !isPort || err != nil || port < 0 || port >= ports || len(columns) <= sentBytes {
			continue
		}
		if sent[port], err = strconv.ParseUint(columns[sentBytes], 10, 64); err != nil {
			return nil, fmt.Errorf("%s has sent %q bytes", name, columns[sentBytes])
		}
		found++
	}
	if found != ports {
		return nil, fmt.Errorf("%d of %d ports are in the table of devices", found, ports)
	}
	return sent, nil
}

// parseAccepted finds the passive opens in the kernel's table of counters, which has a line of names before each line of numbers.
func parseAccepted(table string) (uint64, error) {
	const line = "Tcp:"
	var names []string
	for text := range strings.Lines(table) {
		fields := strings.Fields(text)
		if len(fields) == 0 || fields[0] != line {
			continue
		}
		at := slices.Index(names, "PassiveOpens")
		if at > 0 && at < len(fields) {
			return strconv.ParseUint(fields[at], 10, 64)
		}
		names = fields
	}
	return 0, errors.New("the table of counters does not tell how many connections were accepted")
}
