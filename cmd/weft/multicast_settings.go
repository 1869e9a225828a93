package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/internal/units"
)

// simulatedRate is that of the simulator's links, if nothing else is said.
const simulatedRate = 100e9

// multicastSettings are the flags of weft multicast, checked.
type multicastSettings struct {
	job         cast.Job
	provider    provider
	simulated   bool
	address     string   // of a member that waits
	members     []string // where the others wait
	timeout     time.Duration
	peerTimeout time.Duration
	local       int
	keep        bool
	child       bool
	plain       bool
	asJSON      bool
	mute        bool
	everyMember bool
	in          io.Reader
	out, errs   io.Writer
}

func (o *multicastOptions) settings(cmd *cobra.Command, args []string) (s *multicastSettings, err error) {
	s = &multicastSettings{timeout: o.timeout, peerTimeout: o.peerTimeout, local: o.local, keep: o.keep, child: o.child, plain: o.plain, asJSON: o.asJSON, mute: o.mute,
		everyMember: o.everyMember, in: cmd.InOrStdin(), out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr()}
	if o.serve == perfAddress && len(args) == 1 {
		o.serve, args = args[0], nil // "--serve ADDRESS", without the equals sign
	}
	if err := noMore(cmd, args); err != nil {
		return nil, err
	}
	o.serve = orPerfPort(o.serve)
	s.address = o.serve
	if err := o.choose(s); err != nil {
		return nil, err
	}
	if err := o.checkRole(cmd, s); err != nil {
		return nil, err
	}
	if o.serve != "" {
		return s, nil
	}
	return s, o.fillJob(cmd, s)
}

// choose reads which provider is wanted.
func (o *multicastOptions) choose(s *multicastSettings) (err error) {
	word, by := orEnvironment(o.choice.provider, "--provider", "WEFT_PROVIDER")
	switch {
	case word != "" && !slices.Contains(multicastProviders(), word):
		return fmt.Errorf("%s %q: there are %s", by, word, strings.Join(multicastProviders(), ", "))
	case word == "sim" && o.choice.device != "":
		return fmt.Errorf("--device %s is an RDMA device, and %s asks for sim: leave one of them out", o.choice.device, by)
	case word == "sim":
		s.simulated = true
		return nil
	}
	s.provider, err = o.choice.choose()
	return err
}

// checkRole sees that there is one role and that it fits the rest.
func (o *multicastOptions) checkRole(cmd *cobra.Command, s *multicastSettings) error {
	changed := cmd.Flags().Changed
	if err := atMostOne(cmd, []string{"serve", "members", "local"}); err != nil {
		return err
	}
	switch {
	case changed("serve") && o.serve == "":
		return errors.New("an address is empty: write host:port, unix:/path or unix:@name")
	case !changed("serve") && !changed("members") && !changed("local"):
		return errors.New("who are the members? Say --local N, or --serve on other hosts and --members ADDR,ADDR here")
	case changed("members") && o.members == "":
		return errors.New("--members is empty: write where the others wait, as host1,host2:7471")
	case s.simulated && !changed("local"):
		return errors.New("provider sim is within one process: it needs --local N")
	case o.keep && o.serve == "":
		return errors.New("--keep is for --serve")
	case o.peerTimeout < minPeerTimeout || o.peerTimeout > maxPeerTimeout:
		return fmt.Errorf("--peer-timeout %v: it is between %v and %v", o.peerTimeout, minPeerTimeout, maxPeerTimeout)
	case o.timeout <= 0 || o.timeout > maxPeerTimeout:
		return fmt.Errorf("--timeout %v: it is above 0 and up to %v", o.timeout, maxPeerTimeout)
	case !o.plain && beyondHost(o.serve):
		return fmt.Errorf("--serve %s: other hosts could reach it, and nothing is encrypted: add --plain to allow it", o.serve)
	}
	return o.checkServe(cmd)
}

// checkServe refuses what the root says, and not whoever waits for it.
func (o *multicastOptions) checkServe(cmd *cobra.Command) error {
	if o.serve == "" {
		return nil
	}
	for _, flag := range strings.Fields("size block algorithm racks stripes credits offload repeat wait rate seed timeout peer-timeout verbose") {
		if cmd.Flags().Changed(flag) {
			return fmt.Errorf("--%s is said by the root, not with --serve", flag)
		}
	}
	return nil
}

// fillJob reads what is written in words, and checks all of it.
func (o *multicastOptions) fillJob(cmd *cobra.Command, s *multicastSettings) (err error) {
	j := &s.job
	*j = cast.Job{Stripes: o.stripes, Credits: o.credits, Offload: o.offload, Runs: o.repeat, Seed: o.seed, Timeout: o.peerTimeout}
	if err := o.fillAlgorithm(j); err != nil {
		return err
	}
	if err := j.Wait.UnmarshalText([]byte(o.wait)); err != nil {
		return fmt.Errorf("--wait: %w", err)
	}
	if err := o.fillSizes(s); err != nil {
		return err
	}
	if err := o.fillMembers(s); err != nil {
		return err
	}
	if err := notZero(cmd, "it is chosen", "stripes", "credits"); err != nil {
		return err
	}
	if j.Racks, err = parseRacks(o.racks); err != nil {
		return fmt.Errorf("--racks %q: %w", o.racks, err)
	}
	if j.Algorithm.Racks() && len(j.Racks) == 0 {
		return fmt.Errorf("--algorithm %v needs --racks: how many members are in each", j.Algorithm)
	}
	if !cmd.Flags().Changed("repeat") {
		j.Runs = 3
		if s.simulated {
			j.Runs = 1 // nothing has to warm up, and virtual time is the same every time
		}
	}
	if j.Seed == 0 && !s.simulated {
		j.Seed = rand.Uint64N(1 << 53) // every reader of JSON can keep so much
	}
	if err := j.Validate(); err != nil {
		return err
	}
	return j.Possible()
}

// notZero refuses a zero that was written: it looks like a number, and would mean that nothing was said.
func notZero(cmd *cobra.Command, otherwise string, flags ...string) error {
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); f.Changed && strings.TrimSuffix(f.Value.String(), "s") == "0" { // a time is 0s
			return fmt.Errorf("--%s: 0 makes no sense: leave it out, and %s", name, otherwise)
		}
	}
	return nil
}

// fillAlgorithm reads which algorithm is wanted, or that one is to be chosen.
func (o *multicastOptions) fillAlgorithm(j *cast.Job) error {
	if j.Auto = o.algorithm == autoAlgorithm; j.Auto {
		return nil
	}
	if err := j.Algorithm.UnmarshalText([]byte(o.algorithm)); err != nil {
		return fmt.Errorf("--algorithm: %w, and %s", err, autoAlgorithm)
	}
	return nil
}

func (o *multicastOptions) fillSizes(s *multicastSettings) error {
	size, err := units.ParseSize(o.size)
	if err != nil {
		return fmt.Errorf("--size: %w", err)
	}
	s.job.Size = uint64(size)
	if o.block != "auto" {
		block, err := units.ParseSize(o.block)
		if err != nil || block > cast.MaxBlock || block == 0 {
			return fmt.Errorf("--block %s: write auto, or a size up to %v", o.block, units.Size(cast.MaxBlock))
		}
		s.job.Block = int(block)
	}
	if o.rate != "" {
		rate, err := units.ParseRate(o.rate)
		if err != nil {
			return fmt.Errorf("--rate: %w", err)
		}
		s.job.Rate = float64(rate)
	} else if s.simulated {
		s.job.Rate = simulatedRate
	}
	return nil
}

// fillMembers names the members.
func (o *multicastOptions) fillMembers(s *multicastSettings) error {
	s.job.Members = []string{"root"}
	switch {
	case o.members != "":
		for address := range strings.SplitSeq(o.members, ",") {
			address = orPerfPort(strings.TrimSpace(address))
			if address == "" || slices.Contains(s.members, address) {
				return fmt.Errorf("--members %s: one is empty, or named twice", o.members)
			}
			if !o.plain && !staysHere(address) {
				return fmt.Errorf("--members: %s is beyond this host, and nothing is encrypted: add --plain to allow it", address)
			}
			s.members = append(s.members, address)
		}
		s.job.Members = append(s.job.Members, s.members...)
		if n := len(s.job.Members); n > cast.MaxProcesses {
			return fmt.Errorf("--members: with the root they are %d: a group has up to %d", n, cast.MaxProcesses)
		}
		return nil
	case o.local < 2 || o.local > cast.MaxMembers, o.local > cast.MaxProcesses && !s.simulated:
		return fmt.Errorf("--local %d: a group has 2 to %d members, and in the simulator up to %d", o.local, cast.MaxProcesses, cast.MaxMembers)
	}
	for i := 1; i < o.local; i++ {
		s.job.Members = append(s.job.Members, fmt.Sprint("node", i))
	}
	return s.checkMemory()
}

// staysHere reports whether an address leads to this host for certain.
func staysHere(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return strings.HasPrefix(address, "unix:") || err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// checkMemory says early what would otherwise end with the kernel killing something.
func (s *multicastSettings) checkMemory() error {
	need, free := s.job.Size*uint64(s.local), cast.FreeMemory()
	if s.simulated || free == 0 || need/uint64(s.local) == s.job.Size && need < free {
		return nil
	}
	return fmt.Errorf("--local %d --size %v: every member needs the whole message, and %v of memory are free: lower one of them, or --provider sim",
		s.local, units.Size(s.job.Size), units.Size(free>>20<<20))
}

// parseRacks reads how many members are in each rack: 4,4,8, or 8x64 for 8 racks of 64.
func parseRacks(text string) (racks []int, err error) {
	if text == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		count, size, several := strings.Cut(strings.TrimSpace(word), "x")
		if !several {
			count, size = "1", count
		}
		number, err1 := strconv.Atoi(count)
		members, err2 := strconv.Atoi(size)
		if err1 != nil || err2 != nil || min(number, members) < 1 || number > cast.MaxMembers-len(racks) || members > cast.MaxMembers {
			return nil, errors.New("write how many members are in each rack: 4,4,8, or 8x64 for 8 racks of 64")
		}
		racks = append(racks, slices.Repeat([]int{members}, number)...)
	}
	return racks, nil
}

// connectOptions says who this process is, and what it can use.
func (s *multicastSettings) connectOptions() connect.Options {
	return connect.Options{Name: "weft multicast", Version: version, Offers: s.provider.offers(s.peerTimeout), Plain: s.plain}
}

// say tells people what they may want to know, beside the result.
func (s *multicastSettings) say(text string) { fmt.Fprintf(s.errs, "weft: %s\n", text) }
