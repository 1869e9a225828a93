package ripc

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/ripc/wire"
)

// salt is what makes an ID that was drawn one of a kind. Others are told it.
type salt [16]byte

func newSalt() (s salt) {
	_, _ = rand.Read(s[:]) // it never fails: it ends the process instead
	return s
}

// processID is the ID of a process. It depends on whose it is, so that nobody can say that he is somebody else's process: he
// would need a salt that leads to the same hash.
func processID(owner string, s salt) ID { return drawn([]byte(owner), s) }

// serviceID is the ID of a service without a name. It depends on its process, which alone can send in its name.
func serviceID(process ID, s salt) ID { return drawn(process[:], s) }

func drawn(of []byte, s salt) ID {
	sum := sha256.Sum256(append(s[:len(s):len(s)], of...))
	return wire.RandomID([15]byte(sum[:15]))
}

// rights is who a process belongs to, and what it may do.
type rights struct {
	owner    string                 // what its certificate says; empty: it needs none
	may      func(name string) bool // have a service, or be in a group; nil: all of them
	identity keys.Identity          // all that its certificate says
}

// mayHave reports whether a service with this name, if it has one, can be the process's.
func (r *rights) mayHave(name string) bool { return name == "" || r.may == nil || r.may(name) }

// rightsOf is what a certificate gives.
func rightsOf(id keys.Identity) rights {
	return rights{owner: id.Cluster + "/" + id.Name, may: id.MayRegister, identity: id}
}

// own is what this process may do.
func (c *Config) own() rights {
	if c.Keys == nil {
		return rights{}
	}
	return rightsOf(c.Keys.Identity())
}

// errUnknown: nothing was configured by which a process of another host could be known.
var errUnknown = fmt.Errorf("%w: nobody knows who is at the other end: use a Unix socket, Config.Keys or Config.Plain", ErrForbidden)

// identify finds who is at the other end of a session, by what it cannot choose: its certificate, or what the kernel knows.
func (c *Config) identify(s *connect.Session) (rights, error) {
	if c.Keys != nil {
		state, _ := s.TLS()
		id, err := c.Keys.Peer(state)
		if err != nil {
			return rights{}, fmt.Errorf("%w: %w", ErrForbidden, err)
		}
		return rightsOf(id), nil
	}
	who, known := s.Credentials()
	switch user := os.Getuid(); {
	case c.Plain:
		return rights{}, nil
	case !known:
		return rights{}, errUnknown
	case int(who.User) != user:
		return rights{}, fmt.Errorf("%w: process %d is one of user %d, this is one of user %d: use Config.Keys", ErrForbidden, who.Process, who.User, user)
	}
	return rights{}, nil
}

// checkTrust says what is wrong with whom a node would let in.
func (c *Config) checkTrust() error {
	if c.Keys != nil && c.Plain {
		return errors.New("Config.Keys says who is let in, Config.Plain that everybody is: leave one of them out")
	}
	if c.Listener != nil && c.Keys == nil && !c.Plain {
		return errors.New("Config.Listener: nobody would know who dials there: set Config.Keys, or Config.Plain to let everybody in")
	}
	for _, place := range c.Listen {
		if c.Keys == nil && !c.Plain && !strings.HasPrefix(place, "unix:") {
			return fmt.Errorf("listen on %q: nobody would know who dials there: set Config.Keys, or Config.Plain to let everybody in", place)
		}
	}
	return nil
}
