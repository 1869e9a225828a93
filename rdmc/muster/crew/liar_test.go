package crew

import (
	"sync/atomic"

	"github.com/weft-fabric/weft/verbs/driver"
)

// liar is the device of a hostile member. The member follows the protocol, up to the point where its device alters what is
// sent: so its lies come where they can do harm.
type liar struct {
	driver.Device
	lies   []string    // of the groups that are made next
	lying  atomic.Bool // it has begun
	memory []driver.Memory
}

// prepare notes the lies of groups that are about to be made, in order.
func (l *liar) prepare(squads []*squad) {
	l.lies = nil
	for _, s := range squads {
		l.lies = append(l.lies, s.order.Lie)
	}
}

// NewDomain implements driver.Device.
func (l *liar) NewDomain() (driver.Domain, error) {
	d, err := l.Device.NewDomain()
	return &liarDomain{d, l}, err
}

// bytes finds the bytes of a span.
func (l *liar) bytes(at driver.Span) []byte {
	for _, memory := range l.memory {
		if r := memory.Region(); r.LocalKey == at.Key && at.Address-r.Address < r.Length {
			return r.Bytes[at.Address-r.Address:]
		}
	}
	panic("the liar does not know its own memory")
}

type liarDomain struct {
	driver.Domain
	liar *liar
}

// Alloc implements driver.Allocator.
func (d *liarDomain) Alloc(size int, access driver.Access) (driver.Memory, error) {
	memory, err := d.Domain.(driver.Allocator).Alloc(size, access)
	d.liar.memory = append(d.liar.memory, memory)
	if len(d.liar.lies) > 0 { // a group's buffers are the last that is made of it
		d.liar.lies = d.liar.lies[1:]
	}
	return memory, err
}

// NewQueuePair implements driver.Domain.
func (d *liarDomain) NewQueuePair(config driver.QueueConfig) (driver.QueuePair, error) {
	if len(d.liar.lies) == 0 || d.liar.lies[0] == "" {
		return d.Domain.NewQueuePair(config)
	}
	config.SendDepth *= 2 // a lie may be longer than the truth
	q, err := d.Domain.NewQueuePair(config)
	return &liarPair{q, d.liar, lies[d.liar.lies[0]].tell}, err
}

// liarPair is a queue pair that says something else than it was told.
type liarPair struct {
	driver.QueuePair
	liar *liar
	tell func(*liar, driver.Request) []driver.Request
}

// Post implements driver.QueuePair.
func (q *liarPair) Post(list []driver.Request) (int, error) {
	altered := make([]driver.Request, 0, len(list))
	for _, r := range list {
		if !q.liar.lying.Load() {
			altered = append(altered, r)
			continue
		}
		r.More = append([]driver.Span(nil), r.More...)
		altered = append(altered, q.tell(q.liar, r)...)
	}
	if _, err := q.QueuePair.Post(altered); err != nil {
		return 0, err
	}
	return len(list), nil
}
