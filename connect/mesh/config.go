package mesh

import (
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/internal/printable"
)

// Limits of a mesh.
const (
	MaxMembers = 4096                    // of a mesh; each has a socket with each other
	MaxName    = 128                     // bytes of Config.Name, and of a step's word
	maxMember  = 1 << 10                 // bytes of a member's name
	MaxNote    = connect.MaxNote - 2<<10 // bytes of a card's note in Swap; Exchange has no need of such a limit
	// MaxExchange is how many bytes one member can give another in an Exchange.
	MaxExchange = 64 << 20
)

// DefaultTimeout bounds a Join whose context has no deadline.
const DefaultTimeout = 30 * time.Second

// Config describes a mesh, as one member sees it.
type Config struct {
	// Name tells meshes apart: members of another are refused. It may be empty.
	Name string
	// Self is the index of this member.
	Self int
	// Members are where the members listen, as package connect takes addresses. All members need the same number in the
	// same order; how an address is written may differ.
	Members []string
	// Names are what errors call the members; nil: their addresses.
	Names []string
	// Listener is where this member accepts others. It stays the caller's, and has one Join at a time. Nil: Join listens at
	// the own address of Members, as long as it lasts.
	Listener *connect.Listener
	// Options are for all sessions. Its Timeout bounds steps whose contexts have no deadline; Join tries again while
	// somebody does not listen yet, whatever Wait says; OnRefused hears of strangers too.
	Options connect.Options
}

// validate says what is wrong with a configuration.
func (c *Config) validate() error {
	switch {
	case len(c.Members) == 0 || len(c.Members) > MaxMembers:
		return fmt.Errorf("%d members, allowed are 1 to %d: %w", len(c.Members), MaxMembers, connect.ErrArgument)
	case c.Self < 0 || c.Self >= len(c.Members):
		return fmt.Errorf("Self is %d, but there are %d members: %w", c.Self, len(c.Members), connect.ErrArgument)
	case c.Options.Timeout < 0:
		return fmt.Errorf("Options.Timeout %v is negative: %w", c.Options.Timeout, connect.ErrArgument)
	case c.Names != nil && len(c.Names) != len(c.Members):
		return fmt.Errorf("%d names for %d members: %w", len(c.Names), len(c.Members), connect.ErrArgument)
	}
	if err := checkWord("the mesh's name", c.Name); err != nil {
		return err
	}
	for _, name := range c.Names {
		if err := printable.Check("a member's name", name, maxMember); err != nil {
			return fmt.Errorf("%w: %w", err, connect.ErrArgument)
		}
	}
	where := make(map[string]int)
	for i, address := range c.Members {
		if first, twice := where[address]; twice {
			return fmt.Errorf("members %d and %d have the same address %s: %w", first, i, address, connect.ErrArgument)
		}
		where[address] = i
	}
	return nil
}

// names returns a name for each member.
func (c *Config) names() []string {
	names := make([]string, len(c.Members))
	for i := range names {
		names[i] = c.Members[i]
		if c.Names != nil {
			names[i] = c.Names[i]
		}
	}
	return names
}

// checkWord refuses what is too long, and what could play tricks on a terminal.
func checkWord(what, word string) error {
	if err := printable.Check(what, word, MaxName); err != nil {
		return fmt.Errorf("%w: %w", err, connect.ErrArgument)
	}
	return nil
}

// What can go wrong beside what package connect says.
var (
	// ErrAbsent: a member did not come.
	ErrAbsent = errors.New("did not come")
	// ErrRegroup: a member has lost another one, and waits for everybody to call Without.
	ErrRegroup = errors.New("it has lost a member and wants to go on without: call Without")
	// ErrLeftOut: the other members go on without this one.
	ErrLeftOut = errors.New("it goes on without this member")
)
