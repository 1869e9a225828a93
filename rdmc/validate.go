package rdmc

import (
	"fmt"
	"math"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// Limits of a group.
const (
	MaxQueued = 64      // messages that wait to be sent
	MaxBlocks = 1 << 26 // of a message: 64 TiB in blocks of 1 MiB
	MaxWindow = 1 << 10 // Credits, and Sends
	maxName   = 255     // bytes of a group's or member's name
	maxActive = 4       // messages under way: one drains while the next one starts
)

const (
	defaultMaxMessage = 1 << 50
	maxPace           = time.Hour
	defaultStall      = 5 * time.Second
	defaultStripes    = 2 // research 2.4: more gain nothing
	defaultOffload    = 64
	defaultArrivals   = 4
)

// setDefaults replaces zero values by what they stand for.
func (c *Config) setDefaults() {
	setDefault(&c.Stripes, defaultStripes)
	// As many blocks come and go at a time as there are stripes. With more, two blocks of one stripe share a link, the first
	// arrives a block's time later, and everybody waits for it.
	window := c.Stripes
	if c.Offload {
		window = defaultOffload
	}
	sends := window
	if c.Pace > 0 {
		sends++ // it need not wait for the word that the one before has arrived
	}
	setDefault(&c.Sends, sends)
	if c.Stripes > 1 && !c.Offload {
		window++ // so that a sender need not wait for the word
	}
	setDefault(&c.Credits, window)
	setDefault(&c.BlockSize, DefaultBlockSize)
	setDefault(&c.Arrivals, defaultArrivals)
	setDefault(&c.MaxMessage, defaultMaxMessage)
	setDefault(&c.Stall, defaultStall)
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validate says what makes no sense by itself, after setDefaults.
func (c *Config) validate() error {
	switch {
	case c.Self < 0 || c.Self >= len(c.Members):
		return c.wrong("this member has rank %d of %d", c.Self, len(c.Members))
	case len(c.Name) > maxName:
		return c.wrong("its name has %d bytes, allowed are %d", len(c.Name), maxName)
	case c.BlockSize < 1 || c.BlockSize > math.MaxInt32:
		return c.wrong("block size %d is not between 1 and %d", c.BlockSize, math.MaxInt32)
	case c.Credits < 1 || c.Credits > MaxWindow || c.Sends < 1 || c.Sends > MaxWindow:
		return c.wrong("%d credits, %d sends: allowed are 1 to %d", c.Credits, c.Sends, MaxWindow)
	case c.Arrivals < 1 || c.Arrivals > MaxWindow:
		return c.wrong("%d arrival buffers: allowed are 1 to %d", c.Arrivals, MaxWindow)
	case c.Pace < 0 || c.Pace > maxPace:
		return c.wrong("a pace of %v a block: from 0 to %v", c.Pace, maxPace)
	case c.Stall < time.Millisecond:
		return c.wrong("a stall of %v: at least a millisecond", c.Stall)
	case c.Gate && (c.Offload || c.Store == nil):
		return c.wrong("a gate needs a Store, which hears of blocks, and excludes Offload")
	case c.Self > 0 && c.Incoming == nil && c.Store == nil:
		return c.wrong("a receiver needs Incoming or a Store, to give memory")
	}
	return c.validateMembers()
}

func (c *Config) validateMembers() error {
	seen := make(map[string]int, len(c.Members))
	for rank, name := range c.Members {
		if name == "" || len(name) > maxName {
			return c.wrong("the name of member %d has %d bytes, allowed are 1 to %d", rank, len(name), maxName)
		}
		if first, double := seen[name]; double {
			return c.wrong("members %d and %d are both called %s", first, rank, name)
		}
		seen[name] = rank
	}
	return nil
}

// validateFor says what the device cannot do.
func (c *Config) validateFor(limits verbs.Limits) error {
	switch {
	case uint64(c.BlockSize)+headerSize > uint64(limits.MaxMessage):
		return c.wrong("block size %d: the device sends at most %d bytes, %d of them a header", c.BlockSize,
			limits.MaxMessage, headerSize)
	case c.Offload && !limits.Chains:
		return c.wrong("the device cannot chain requests, so there is no Offload")
	case limits.MaxSpans < 2:
		return c.wrong("the device cannot gather a header and a block")
	case max(c.Sends, c.controlReceives()) > limits.MaxDepth:
		return c.wrong("%d credits, %d sends: the device's queues have %d places", c.Credits, c.Sends, limits.MaxDepth)
	}
	return nil
}

// checkSize says whether a message may be so long.
func (c *Config) checkSize(size uint64) error {
	if size > c.MaxMessage || size > MaxBlocks*uint64(c.BlockSize) {
		return c.wrong("a message of %d bytes in blocks of %d: at most %d bytes and %d blocks", size, c.BlockSize,
			c.MaxMessage, MaxBlocks)
	}
	return nil
}

func (c *Config) wrong(format string, args ...any) error {
	return fmt.Errorf("group %s: %w: %s", c.Name, ErrArgument, fmt.Sprintf(format, args...))
}

func (c *Config) shape() schedule.Config {
	return schedule.Config{Algorithm: c.Algorithm, Members: len(c.Members), Racks: c.Racks, Stripes: c.Stripes}
}
