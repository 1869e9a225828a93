package verbstest

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/verbs"
)

// This file is the commands that open, close and describe objects.

// OpenDomain opens a further domain. Domain 0, everywhere, is the end's own. Result: ID.
type OpenDomain struct {
	Unused bool // gob carries no struct without fields
}

func (c OpenDomain) carryOut(a *agent) (Result, error) {
	d, err := a.device.NewDomain()
	if err != nil {
		return Result{}, err
	}
	return Result{ID: a.domains.put(d)}, nil
}

// OpenMemory allocates memory, or registers pages that the end has mapped itself and that stay readable after the
// memory is closed. They are a memfd's: peers in other processes cannot reach private pages. Result: ID, Region.
type OpenMemory struct {
	Domain   int
	Size     int
	Access   verbs.Access
	OwnPages bool
}

func (c OpenMemory) carryOut(a *agent) (Result, error) {
	d, err := a.domain(c.Domain)
	if err != nil {
		return Result{}, err
	}
	m, err := a.newMemory(d, c)
	if err != nil {
		return Result{}, err
	}
	a.bytes.put(m.Bytes())
	return Result{ID: a.memories.put(m), Region: regionOf(m)}, nil
}

func (a *agent) newMemory(d *verbs.Domain, c OpenMemory) (*verbs.Memory, error) {
	if !c.OwnPages {
		return d.Alloc(c.Size, c.Access)
	}
	pages, err := mapOwnPages(c.Size)
	if err != nil {
		return nil, err
	}
	a.mapped = append(a.mapped, pages)
	return d.Register(pages.bytes, c.Access)
}

func regionOf(m *verbs.Memory) region {
	span, remote := m.Span(0, 0), m.Remote(0, 0)
	return region{Address: remote.Address, Length: m.Len(), LocalKey: span.Key, RemoteKey: remote.Key}
}

// OpenPair opens a queue pair; fields are as in verbs.QueueConfig. Result: ID, Number, Address, Room, ReceiveRoom.
type OpenPair struct {
	Domain       int
	Pool         int // shared receives; 0: its own
	SendDepth    int
	ReceiveDepth int
	MaxSpans     int
	MaxInline    int
	Access       verbs.Access
	ReceiverWait time.Duration
}

func (c OpenPair) carryOut(a *agent) (Result, error) {
	d, err := a.domain(c.Domain)
	if err != nil {
		return Result{}, err
	}
	config := verbs.QueueConfig{Completions: a.queue, SendDepth: c.SendDepth, ReceiveDepth: c.ReceiveDepth,
		MaxSpans: c.MaxSpans, MaxInline: c.MaxInline, Access: c.Access, ReceiverWait: c.ReceiverWait}
	if c.Pool != 0 {
		if config.Shared, err = a.pools.get(c.Pool); err != nil {
			return Result{}, err
		}
	}
	q, err := d.NewQueuePair(config)
	if err != nil {
		return Result{}, err
	}
	r := describePair(q)
	r.ID = a.pairs.put(q)
	return r, nil
}

// OpenPool opens shared receives. Result: ID, Room.
type OpenPool struct {
	Depth    int
	MaxSpans int
}

func (c OpenPool) carryOut(a *agent) (Result, error) {
	s, err := a.domains.items[0].NewSharedReceives(verbs.SharedConfig{Completions: a.queue, Depth: c.Depth,
		MaxSpans: c.MaxSpans})
	if err != nil {
		return Result{}, err
	}
	return Result{ID: a.pools.put(s), Room: s.Room()}, nil
}

// object is a kind of thing that an end opens.
type object uint8

// The kinds.
const (
	aPair object = iota
	aMemory
	aPool
	aWindow
)

// Close closes an object. What a test leaves open is closed with the end. Snapshot, which must be of own pages if it is their
// memory that is closed, is taken when Close has returned; Changed compares with it.
type Close struct {
	Kind     object
	ID       int
	Snapshot Snapshot
}

func (c Close) carryOut(a *agent) (Result, error) {
	object, err := a.find(c.Kind, c.ID)
	if err != nil {
		return Result{}, err
	}
	err = object.Close()
	if c.Snapshot.Memory != 0 {
		a.snapshot(c.Snapshot)
	}
	return Result{}, err
}

type closer interface{ Close() error }

func (a *agent) find(kind object, id int) (closer, error) {
	switch kind {
	case aPair:
		return a.pairs.get(id)
	case aMemory:
		return a.memories.get(id)
	case aPool:
		return a.pools.get(id)
	case aWindow:
		return a.windows.get(id)
	}
	return nil, fmt.Errorf("verbstest: close object of kind %d", kind)
}

// Inspect asks how a queue pair stands (or only, for pair 0, what the device's limits are). Result: Number, Address,
// State, Room, ReceiveRoom, Limits, and in Count how many completions the end's queue has room for.
type Inspect struct{ Pair int }

func (c Inspect) carryOut(a *agent) (Result, error) {
	r := Result{}
	if c.Pair != 0 {
		q, err := a.pairs.get(c.Pair)
		if err != nil {
			return Result{}, err
		}
		r = describePair(q)
	}
	r.Limits, r.Count = a.device.Limits(), a.queue.Room()
	return r, nil
}

func describePair(q *verbs.QueuePair) Result {
	r := Result{Number: q.Number(), State: q.State(), Room: q.Room(), ReceiveRoom: q.ReceiveRoom()}
	if r.State != verbs.Closed {
		r.Address = q.Address()
	}
	return r
}

// Describe tells, for a failure's message, what the end has and what it has not done yet. Result: Text.
type Describe struct {
	Unused bool // gob carries no struct without fields
}

func (c Describe) carryOut(a *agent) (Result, error) {
	text := []string{fmt.Sprintf("%s has %d completions that nobody took", a.name, len(a.ended))}
	for _, w := range a.ended[:min(len(a.ended), 8)] {
		text = append(text, fmt.Sprintf("  %+v", w))
	}
	for i, q := range a.pairs.items[:min(len(a.pairs.items), 8)] {
		text = append(text, fmt.Sprintf("  pair %d: %v, room %d and %d", i+1, q.State(), q.Room(), q.ReceiveRoom()))
	}
	for i, s := range a.streams.items {
		text = append(text, fmt.Sprintf("  stream %d: %+v", i+1, s.status()))
	}
	return Result{Text: text}, nil
}
