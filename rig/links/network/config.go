package network

import (
	"errors"
	"fmt"
	"regexp"
)

// MaxHosts is how many hosts a network has at most: their addresses share 24 bits.
const MaxHosts = 250

// Unlimited is the rate of a link without a limit.
const Unlimited = "none"

// Config describes a network.
type Config struct {
	Racks   []int  // hosts of each rack; more than one has a switch of its own, and a spine joins them
	Rate    string // of each host's link, each way, as tc has it: "200mbit"; Unlimited
	Between string // of the link between a rack and the spine; empty: Unlimited
}

var rates = regexp.MustCompile(`^[1-9][0-9]{0,5}[kmg]bit$`)

// Validate says what is wrong.
func (c Config) Validate() error {
	if len(c.Racks) == 0 {
		return errors.New("a network without hosts")
	}
	hosts := 0
	for _, n := range c.Racks {
		if n < 1 || n > MaxHosts {
			return fmt.Errorf("%d hosts in a rack: from 1 to %d", n, MaxHosts)
		}
		hosts += n
	}
	if hosts > MaxHosts {
		return fmt.Errorf("%d hosts: at most %d", hosts, MaxHosts)
	}
	for _, rate := range []string{c.Rate, c.between()} {
		if rate != Unlimited && !rates.MatchString(rate) {
			return badRate(rate)
		}
	}
	return nil
}

func badRate(rate string) error {
	return fmt.Errorf("rate %q: write for example 200mbit, 1gbit or none", rate)
}

func (c Config) between() string {
	if c.Between == "" {
		return Unlimited
	}
	return c.Between
}

// spread is the rack of each host.
func (c Config) spread() (racks []int) {
	for rack, n := range c.Racks {
		for range n {
			racks = append(racks, rack)
		}
	}
	return racks
}
