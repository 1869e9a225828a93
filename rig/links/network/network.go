package network

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Network is a number of hosts and the switches between them.
type Network struct {
	hosts    []*namespace
	switches *namespace // all of them
}

// Up makes a network. It takes about 20 ms for each host.
func Up(config Config) (*Network, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if err := able(); err != nil {
		return nil, err
	}
	n := &Network{}
	if err := n.build(config); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// able says what is missing here.
func able() error {
	if os.Geteuid() != 0 {
		return errors.New("making network namespaces needs root")
	}
	for _, program := range []string{"ip", "tc", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s is missing: install iproute2 and util-linux (scripts/need --all iproute2 util-linux)", program)
		}
	}
	return nil
}

func (n *Network) build(config Config) (err error) {
	if n.switches, err = newNamespace(); err != nil {
		return err
	}
	racks := config.spread()
	for range racks {
		host, err := newNamespace()
		if err != nil {
			return err
		}
		n.hosts = append(n.hosts, host)
	}
	if err := n.connect(config, racks); err != nil {
		return err
	}
	for i, host := range n.hosts {
		up := []string{"link set lo up", "addr add " + n.Address(i) + "/24 brd + dev eth0", "link set eth0 up"}
		if err := errors.Join(host.forget(), host.batch("ip", up), host.batch("tc", limit(nil, "eth0", config.Rate))); err != nil {
			return err
		}
	}
	return nil
}

// connect makes the switches and their side of every link.
func (n *Network) connect(config Config, racks []int) error {
	links, limits := switches(config)
	for i, host := range n.hosts {
		port := fmt.Sprint("port", i)
		links = append(links, fmt.Sprintf("link add %s type veth peer name eth0 netns %s", port, host.pid()),
			fmt.Sprintf("link set %s master rack%d up", port, racks[i]))
		limits = limit(limits, port, config.Rate)
	}
	return errors.Join(n.switches.batch("ip", links), n.switches.batch("tc", limits))
}

// switches are the commands for a bridge for each rack and, if there are several, for the spine between them.
func switches(config Config) (links, limits []string) {
	bridge := func(name string) {
		links = append(links, "link add "+name+" type bridge mcast_snooping 0", "link set "+name+" up")
	}
	if len(config.Racks) == 1 {
		bridge("rack0")
		return links, limits
	}
	bridge("spine")
	for rack := range config.Racks {
		bridge(fmt.Sprint("rack", rack))
		up, down := fmt.Sprint("up", rack), fmt.Sprint("down", rack)
		links = append(links, fmt.Sprintf("link add %s type veth peer name %s", up, down),
			fmt.Sprintf("link set %s master rack%d up", up, rack), fmt.Sprintf("link set %s master spine up", down))
		limits = limit(limit(limits, up, config.between()), down, config.between())
	}
	return links, limits
}

// limit adds a token bucket, which limits what leaves by a device.
func limit(lines []string, device, rate string) []string {
	if rate == Unlimited {
		return lines
	}
	return append(lines, fmt.Sprintf("qdisc replace dev %s root tbf rate %s burst 128kb latency 50ms", device, rate))
}

// Limit gives a host's link another rate, each way, from now on.
func (n *Network) Limit(host int, rate string) error {
	if !rates.MatchString(rate) {
		return badRate(rate)
	}
	return errors.Join(n.hosts[host].batch("tc", limit(nil, "eth0", rate)), n.switches.batch("tc", limit(nil, fmt.Sprint("port", host), rate)))
}

// Accepted is how many TCP connections were accepted on a host since the network was made.
func (n *Network) Accepted(host int) (uint64, error) {
	text, err := os.ReadFile("/proc/" + n.hosts[host].pid() + "/net/snmp")
	if err != nil {
		return 0, err
	}
	return parseAccepted(string(text))
}

// Hosts is how many there are.
func (n *Network) Hosts() int { return len(n.hosts) }

// Address is where a host can be reached by the others.
func (n *Network) Address(host int) string { return fmt.Sprintf("10.77.0.%d", host+1) }

// Process is a process that lives on a host as long as the network stands: nsenter can follow it.
func (n *Network) Process(host int) int { return n.hosts[host].holder.Process.Pid }

// Command prepares a command that runs on a host. It ends with ctx, and with our process.
func (n *Network) Command(ctx context.Context, host int, name string, arguments ...string) *exec.Cmd {
	return n.hosts[host].command(ctx, name, arguments...)
}

// Close takes everything down. Commands should have ended: a host lives on as long as there is one.
func (n *Network) Close() (err error) {
	for _, host := range n.hosts {
		err = errors.Join(err, host.close())
	}
	if n.switches != nil {
		err = errors.Join(err, n.switches.close())
	}
	return err
}
