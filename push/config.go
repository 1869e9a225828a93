package push

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/hosts"
	"github.com/weft-fabric/weft/push/way"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/ripc/find"
)

// Reacher knows the way to a host: where its agent listens, and the name of its service.
type Reacher interface {
	Reach(ctx context.Context, host hosts.Host) (address, service string, err error)
}

// Listening reaches agents that listen already, by TCP: that of host h as service agent/h.
type Listening struct{}

// Reach needs to ask nobody.
func (Listening) Reach(_ context.Context, host hosts.Host) (address, service string, err error) {
	port := host.Port
	if port == 0 {
		port = control.DefaultPort
	}
	return net.JoinHostPort(host.Name, strconv.Itoa(port)), control.Service(host.Name), nil
}

// Auto is the word for what is to be chosen.
const Auto = "auto"

// Config is a push. Sources, Dest, Hosts, Keys and OpenPlace are required.
type Config struct {
	Sources []string // files and directories
	Dest    string   // below the root of each agent
	Hosts   []hosts.Host
	Racks   []string // rack of each of Hosts; nil: they are not known
	OwnRack string   // of this host; empty: the rack of the first of Hosts

	Keys      *keys.Keyring                                  // of the pusher
	OpenPlace func(agents find.Resolver) (*way.Place, error) // opens this end, which finds agents by a table; it is closed by the push
	Reach     Reacher                                        // nil: Listening

	Force    bool   // replace what is different
	Preserve bool   // owners, setuid and setgid too
	Checksum bool   // believe no cache of hashes, and no file because it looks the same
	Expect   string // "sha256:HEX" that the content must have

	Way       string // "auto", "shm", "tcp", "ibv"; empty: auto
	Plain     bool   // TCP is not encrypted
	Algorithm string // "auto" or the name of one; empty: auto
	Block     int    // bytes; 0: it is chosen
	Rate      uint64 // bytes a second that each host may send at most; 0: all it can
	LinkRate  uint64 // bits a second of a link, as somebody says; 0: it is measured
	Fan       int    // hosts that are called at a time; 0: 32

	ConnectTimeout time.Duration // for a host to answer; 0: 10 s
	StallTimeout   time.Duration // for anybody to get on; 0: a minute
	Deadline       time.Duration // for everything; 0: none

	CacheDir string // where hashes are kept; empty: they are not
	SpoolDir string // where the manifest lies meanwhile; empty: the system's
	DryRun   bool   // plan, and ask all hosts whether they could; nothing is changed

	Weft   string       // version of the program
	Events func(Event)  // hears what happens, one at a time; nil: nobody does
	Log    *slog.Logger // nil: nobody
}

// ErrUsage is that the configuration makes no sense.
var ErrUsage = errors.New("bad argument")

// withDefaults fills in what was left out.
func (c Config) withDefaults() Config {
	orString(&c.Way, Auto)
	orString(&c.Algorithm, Auto)
	if c.Reach == nil {
		c.Reach = Listening{}
	}
	if c.Fan == 0 {
		c.Fan = 32
	}
	orTime(&c.ConnectTimeout, 10*time.Second)
	orTime(&c.StallTimeout, time.Minute)
	if c.Events == nil {
		c.Events = func(Event) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

func orString(to *string, otherwise string) {
	if *to == "" {
		*to = otherwise
	}
}

func orTime(to *time.Duration, otherwise time.Duration) {
	if *to == 0 {
		*to = otherwise
	}
}

// validate says what is wrong with a configuration whose defaults are filled in.
func (c *Config) validate() error {
	for _, v := range []struct {
		wrong bool
		text  string
	}{
		{len(c.Sources) == 0, "nothing is named to push"},
		{len(c.Hosts) == 0, "no host is named"},
		{slices.ContainsFunc(c.Hosts, func(h hosts.Host) bool { return h.String() == rootName }), fmt.Sprintf("a host cannot be called %q", rootName)},
		{len(c.Hosts) >= control.MaxMembers, fmt.Sprintf("%d hosts are too many: a push has at most %d", len(c.Hosts), control.MaxMembers-1)},
		{c.Keys == nil, "Config.Keys is nil: a pusher shows who it is"},
		{c.OpenPlace == nil, "Config.OpenPlace is nil"},
		{c.Racks != nil && len(c.Racks) != len(c.Hosts), "Config.Racks must have a rack for each host"},
		{c.Block != 0 && (c.Block < control.MinBlock || c.Block > control.MaxBlock || c.Block%control.BlockUnit != 0),
			fmt.Sprintf("a block has %d to %d bytes, a multiple of %d, and not %d", control.MinBlock, control.MaxBlock, control.BlockUnit, c.Block)},
		{c.Fan < 1 || c.ConnectTimeout < 0 || c.StallTimeout < 0 || c.Deadline < 0, "a number is below zero"},
		{c.Way != Auto && c.Way != "shm" && c.Way != "tcp" && c.Way != "ibv", fmt.Sprintf("there is no way %q: auto, shm, tcp and ibv", c.Way)},
		{c.Way == wayIBV && c.Rate > 0, "RDMA hardware cannot be slowed down: leave out the limit, or take the way tcp"},
		{c.Expect != "" && !validExpect(c.Expect), fmt.Sprintf("%q is no hash to expect: write sha256: and 64 hexadecimal digits", c.Expect)},
	} {
		if v.wrong {
			return fmt.Errorf("%w: %s", ErrUsage, v.text)
		}
	}
	if err := control.CheckDest(c.Dest); err != nil {
		return fmt.Errorf("%w: %s", ErrUsage, strings.TrimPrefix(err.Error(), control.ErrMalformed.Error()+": "))
	}
	return c.checkAlgorithm()
}

func (c *Config) checkAlgorithm() error {
	if c.Algorithm == Auto {
		return nil
	}
	a, err := schedule.ParseAlgorithm(c.Algorithm)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUsage, err)
	case a.Racks() && c.Racks == nil:
		return fmt.Errorf("%w: algorithm %v needs to know racks", ErrUsage, a)
	}
	return nil
}

// expectPrefix is the kind of hash that can be expected.
const expectPrefix = "sha256:"

func validExpect(text string) bool {
	digits, ok := strings.CutPrefix(text, expectPrefix)
	return ok && len(digits) == 64 && strings.Trim(strings.ToLower(digits), "0123456789abcdef") == ""
}
