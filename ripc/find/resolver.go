package find

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/wire"
)

// Resolver makes services known, and finds them. Its methods may be called from any goroutine. After Close, Claim, Find and
// List fail with ErrClosed.
type Resolver interface {
	// Name is a word for the way in which it finds: "static", "host", "lan".
	Name() string

	// Claim makes a service known, as one of this process. It fails with a *TakenError if another live process has the
	// service; a group is never taken. The epoch that it gives is higher than any that went before, as far as the resolver
	// knows, and at least that of r: so claims of one service with several resolvers can be given the same. Claiming again
	// what this process (r.Node) has gives the same claim with what r says now: at other addresses, or of a higher epoch.
	Claim(ctx context.Context, r Record) (Claim, error)

	// Find returns the records for an ID: one for a service, one for each member of a group, in no order. If there is none,
	// that is ErrNotFound. Every record passes Check.
	Find(ctx context.Context, id wire.ID) ([]Record, error)

	// List returns the records of all services that it knows or hears of, in no order.
	List(ctx context.Context) ([]Record, error)

	// Watch has f called when a service has come, moved or gone, as far as the resolver hears of it. It is called from a
	// goroutine of the resolver's, one call at a time, until Close returns. It must be quick, and must not call the resolver.
	Watch(f func(Change))

	// Close withdraws all claims and ends the resolver. A second Close does nothing.
	Close() error
}

// Claim is a service that this process has. Its methods may be called from any goroutine.
type Claim interface {
	// Record is what is known of the service, with the epoch that it was given.
	Record() Record

	// ValidUntil is up to when, by clock.Real, nobody else can have the service, even if this process were stopped now. After
	// that nothing may be delivered to the service until the claim has been renewed. It is clock.Never if the resolver leaves
	// it to people that no two processes have one service.
	ValidUntil() clock.Time

	// Done is closed when the claim has ended. Err then says why: ErrSuperseded, ErrWithdrawn, ErrLost, ErrClosed.
	Done() <-chan struct{}

	// Err is nil while the claim holds, although it may need to be renewed.
	Err() error

	// Withdraw gives the service up and lets the others know. A second call does nothing.
	Withdraw(ctx context.Context) error
}

// Change is what a resolver has heard of a service.
type Change struct {
	What   What
	Record Record // as it is now; for Gone, as it was
}

// What has happened to a service, or to a member of a group.
type What uint8

// What can happen.
const (
	Came  What = iota + 1 // it was not known before
	Moved                 // it has another record than before: another process, epoch or address
	Gone                  // nobody has it any more
)

var whatNames = [...]string{Came: "came", Moved: "moved", Gone: "gone"}

func (w What) String() string {
	if int(w) < len(whatNames) && w > 0 {
		return whatNames[w]
	}
	return fmt.Sprintf("What(%d)", uint8(w))
}
