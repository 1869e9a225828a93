package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/hosts"
)

// pushSettings are the flags of weft push, checked.
type pushSettings struct {
	config      push.Config
	names       []string // of hosts, as they are shown
	keys        []string // files
	device      string   // for RDMA
	local       int
	keep        bool
	failedHosts string
	failing     string // what hosts do of which the command tells, if it is not that they failed
	again       string // the command line that serves hosts that failed, up to -w
	asJSON      bool
	mute        bool
	verbose     bool
	out, errs   io.Writer
}

// maxLocal is how many agents one command starts.
const maxLocal = 64

func (o *pushOptions) settings(cmd *cobra.Command, args []string) (*pushSettings, error) {
	typed := slices.Clone(o.exclude)
	if err := o.fillFlags(cmd.Flags()); err != nil {
		return nil, err
	}
	s := &pushSettings{keys: o.keys, local: o.local, keep: o.keep, failedHosts: o.failedHosts, asJSON: o.asJSON, mute: o.mute, verbose: o.verbose,
		out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr()}
	s.config = push.Config{Force: o.force, Preserve: o.preserve, Checksum: o.checksum, Expect: o.expect, Plain: o.plain, Algorithm: o.algorithm, Fan: o.fanout,
		ConnectTimeout: o.connect, StallTimeout: o.stall, Deadline: o.deadline, DryRun: o.dryRun, Weft: version}
	for _, fill := range []func(*cobra.Command, *pushSettings) error{o.checkNumbers, o.fillHosts, o.fillWay, o.fillRates, o.fillBlock} {
		if err := fill(cmd, s); err != nil {
			return nil, err
		}
	}
	if err := s.fillPaths(cmd, args); err != nil {
		return nil, err
	}
	s.again = againLine(cmd, args)
	o.warnOfNobody(s, typed)
	return s, nil
}

// fillFlags gives flags that are not on the command line the values that the environment has for them, or else a file.
func (o *pushOptions) fillFlags(flags *pflag.FlagSet) error {
	if err := fallback(fromEnvironment).fill(flags); err != nil {
		return err
	}
	file, err := pushFile(o.file)
	if err != nil {
		return err
	}
	return file.fill(flags)
}

// fromEnvironment is what the environment says of a flag.
func fromEnvironment(flag string) (values []string, from string) {
	if flag == "help" || flag == "device" { // WEFT_DEVICE says less than --device: see choiceFlags
		return nil, ""
	}
	name := strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
	for _, variable := range []string{"PUSH_" + name, "WEFT_" + name} {
		if value := os.Getenv(variable); value != "" {
			return []string{value}, variable + "=" + value
		}
	}
	return nil, ""
}

func (o *pushOptions) checkNumbers(cmd *cobra.Command, _ *pushSettings) error {
	switch {
	case o.fanout < 1:
		return fmt.Errorf("--fanout %d: at least one host must be called at a time", o.fanout)
	case o.port < 1 || o.port > 65535:
		return fmt.Errorf("--port %d: there are ports 1 to 65535", o.port)
	case o.failedHosts != "" && !mayBeWritten(o.failedHosts):
		return fmt.Errorf("--failed-hosts %s: there is no such directory, or that is one", o.failedHosts)
	case o.keep && o.local == 0:
		return errors.New("--keep is for --local")
	}
	return cmp.Or(notZero(cmd, "there is none", "deadline"), o.checkTimes())
}

// checkTimes refuses times in which nothing can be done. Without a deadline its time is zero.
func (o *pushOptions) checkTimes() error {
	for _, t := range []struct {
		flag string
		time time.Duration
		none bool
	}{{"connect-timeout", o.connect, false}, {"stall-timeout", o.stall, false}, {"deadline", o.deadline, o.deadline == 0}} {
		if t.time <= 0 && !t.none {
			return fmt.Errorf("--%s %v: write a time above zero, as 10s or 5m", t.flag, t.time)
		}
	}
	return nil
}

// mayBeWritten reports whether a file may come to be under a name: a long push should not end with an error that was known before.
func mayBeWritten(name string) bool {
	dir, err := os.Stat(filepath.Dir(name))
	there, missing := os.Stat(name)
	return err == nil && dir.IsDir() && (missing != nil || !there.IsDir())
}

// fillHosts reads which hosts it is about.
func (o *pushOptions) fillHosts(cmd *cobra.Command, s *pushSettings) (err error) {
	given := cmd.Flags().Changed
	switch {
	case given("local") && (given("hosts") || given("exclude")):
		return errors.New("--local starts its own hosts: leave it out, or -w")
	case given("local") && (o.local < 1 || o.local > maxLocal):
		return fmt.Errorf("--local %d: 1 to %d agents can be started here", o.local, maxLocal)
	case given("local"):
		o.hosts = []string{fmt.Sprintf("node[1-%d]", o.local)}
	case len(o.hosts) == 0 && cmd.Flags().Lookup("local") == nil:
		return fmt.Errorf("to which hosts? Say -w HOSTS; see '%s --help'", cmd.CommandPath())
	case len(o.hosts) == 0:
		return errors.New("to which hosts? Say -w HOSTS, or --local N to try it here")
	}
	read := func(name string) ([]byte, error) { return readNamed(cmd, name) }
	if s.config.Hosts, err = o.parseHosts(read); err != nil {
		return err
	}
	for _, h := range s.config.Hosts {
		s.names = append(s.names, h.String())
	}
	s.config.Reach = listeningAt(o.port)
	return o.fillRacks(s, read)
}

// listeningAt reaches agents at a port, if nothing else is said of their host.
type listeningAt int

// Reach is where the agent of a host listens.
func (port listeningAt) Reach(ctx context.Context, h hosts.Host) (address, service string, err error) {
	h.Port = cmp.Or(h.Port, int(port))
	return push.Listening{}.Reach(ctx, h)
}

func (o *pushOptions) fillRacks(s *pushSettings, read hosts.ReadFunc) error {
	if o.racks == "" {
		return nil
	}
	racking, err := hosts.ReadRacks(o.racks, read)
	if err != nil {
		return fmt.Errorf("--racks: %w", err)
	}
	numbers, names, err := racking.Of(s.config.Hosts)
	if err != nil {
		return fmt.Errorf("--racks: %w", err)
	}
	for _, number := range numbers {
		s.config.Racks = append(s.config.Racks, names[number])
	}
	own, _ := os.Hostname() // without a name it is in no rack that is known
	s.config.OwnRack = racking.OfName(own)
	return nil
}

func (o *pushOptions) parseHosts(read hosts.ReadFunc) ([]hosts.Host, error) {
	all, err := hosts.Parse(o.hosts, read)
	if err != nil {
		return nil, fmt.Errorf("-w: %w", err)
	}
	if all, err = o.excludeHosts(all, read); err != nil {
		return nil, fmt.Errorf("-x: %w", err)
	}
	if len(all) == 0 {
		return nil, errors.New("-w: no host is left: the list is empty, or -x leaves them all out")
	}
	return all, nil
}

// excludeHosts leaves out hosts, and notes which words leave out none.
func (o *pushOptions) excludeHosts(all []hosts.Host, read hosts.ReadFunc) (left []hosts.Host, err error) {
	for _, spec := range o.exclude {
		if left, err = hosts.Exclude(all, o.port, []string{spec}, read); err != nil {
			return nil, err
		}
		if len(left) == len(all) {
			o.nobody = append(o.nobody, spec)
		}
		all = left
	}
	return all, nil
}

// warnOfNobody says which of the -x that somebody has typed leave out nobody: it may be a slip. Files, and what is always left out, may well
// have no host of this push.
func (o *pushOptions) warnOfNobody(s *pushSettings, typed []string) {
	for _, spec := range o.nobody {
		isList := spec == "-" || strings.Contains(spec, "^")
		if slices.Contains(typed, spec) && !isList && !s.mute && !s.asJSON {
			fmt.Fprintf(s.errs, "weft: -x %s leaves out nobody\n", quoted(spec))
		}
	}
}

// maxHostFile bounds what is read as a list of hosts.
const maxHostFile = 16 << 20

// readNamed reads a file, or standard input for "-".
func readNamed(cmd *cobra.Command, name string) ([]byte, error) {
	in := cmd.InOrStdin()
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }() // it was only read
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxHostFile+1))
	if err == nil && len(text) > maxHostFile {
		err = fmt.Errorf("%s is larger than %v", name, units.Size(maxHostFile))
	}
	return text, err
}

// fillWay reads by which way the bytes are to go.
func (o *pushOptions) fillWay(_ *cobra.Command, s *pushSettings) error {
	if word, by := orEnvironment(o.choice.provider, "--provider", "WEFT_PROVIDER"); word != "" && !slices.Contains(pushWays, word) {
		return fmt.Errorf("%s %q: there are %s", by, word, strings.Join(pushWays, ", "))
	}
	p, err := o.choice.choose()
	if err != nil {
		return err
	}
	s.config.Way, s.device = p.lane, p.device
	return p.missing()
}

// fillRates reads what is written as a rate.
func (o *pushOptions) fillRates(_ *cobra.Command, s *pushSettings) error {
	if o.rate != "" {
		rate, err := units.ParseRate(o.rate)
		if err != nil {
			return fmt.Errorf("--rate: %w", err)
		}
		s.config.LinkRate = uint64(rate)
	}
	if o.bandwidth != "" {
		limit, err := parseBandwidth(o.bandwidth)
		if err != nil {
			return fmt.Errorf("--bwlimit %q: %w", o.bandwidth, err)
		}
		s.config.Rate = limit
	}
	return nil
}

// minBandwidth is the lowest limit: a block must pass before peers take its sender for dead.
const minBandwidth = 16 << 10

// parseBandwidth reads bytes a second: 100MB, 100MB/s, or as bits: 800mbit.
func parseBandwidth(text string) (uint64, error) {
	var bytes uint64
	if rate, err := units.ParseRate(text); err == nil {
		bytes = uint64(rate / 8)
	} else if size, err := units.ParseSize(strings.TrimSuffix(text, "/s")); err == nil {
		bytes = uint64(size)
	} else {
		return 0, errors.New("write what goes in a second, as 100MB or 800mbit")
	}
	if bytes < minBandwidth {
		return 0, fmt.Errorf("%v a second is the least", units.Size(minBandwidth))
	}
	return bytes, nil
}

func (o *pushOptions) fillBlock(_ *cobra.Command, s *pushSettings) error {
	if o.block == push.Auto {
		return nil
	}
	size, err := units.ParseSize(o.block)
	if err != nil || size < control.MinBlock || size > control.MaxBlock {
		return fmt.Errorf("--block %s: write auto, or a size from %v to %v", o.block, units.Size(control.MinBlock), units.Size(control.MaxBlock))
	}
	s.config.Block = int(size)
	return nil
}

// fillPaths reads what is to be put where. With --local both may be left out, and nobody knows where the roots are.
func (s *pushSettings) fillPaths(cmd *cobra.Command, args []string) error {
	switch {
	case slices.Contains(args, ""):
		return errors.New("a path is empty")
	case s.local > 0 && len(args) < 2:
		s.config.Sources, s.config.Dest = args, "."
	case len(args) < 2:
		return fmt.Errorf("%s takes what there is here, and where it belongs: SRC... DEST; see '%s --help'", cmd.Name(), cmd.CommandPath())
	default:
		s.config.Sources, s.config.Dest = args[:len(args)-1], args[len(args)-1]
	}
	if slices.Contains(strings.Split(s.config.Dest, "/"), "..") {
		return fmt.Errorf("DEST %q: a destination has no part that is ..", s.config.Dest)
	}
	if s.local > 0 {
		s.config.Dest = "./" + strings.TrimLeft(s.config.Dest, "/")
	}
	return nil
}
