package verbstest

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/weft-fabric/weft/verbs"
)

// The tests of this file must hold verbs objects in their hands, because a wrong argument cannot be sent through a pipe.
// So they are commands: the end carries them out and returns its complaints.

// attempt is one call that must fail in a certain way.
type attempt struct {
	what string
	want error
	call func() error
}

// check makes the attempts, and returns what went otherwise than it should.
func check(list []attempt) (complaints []string) {
	for _, c := range list {
		if err := guarded(c.call); !errors.Is(err, c.want) {
			complaints = append(complaints, fmt.Sprintf("%s gave %v, want an error that is %q", c.what, err, c.want))
		}
	}
	return complaints
}

// guarded turns a panic into an error.
func guarded(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return call()
}

// failure drops the object of a call that must fail. If the call succeeds after all, the object is closed.
func failure[T closer](object T, err error) error {
	if err == nil {
		return errors.Join(errors.New("it succeeded"), object.Close())
	}
	return err
}

// BadArguments makes every call of package verbs with arguments that are wrong, on the end's own device. Pair is a
// connected queue pair with room for at least five requests, one inline byte and two spans. Result: Text, the complaints.
type BadArguments struct{ Pair int }

func (c BadArguments) carryOut(a *agent) (Result, error) {
	q, err := a.pairs.get(c.Pair)
	if err != nil {
		return Result{}, err
	}
	f, err := openForeign(a)
	if err != nil {
		return Result{}, err
	}
	var text []string
	d := a.domains.items[0]
	text = append(text, check(badDevice(a.device))...)
	text = append(text, check(badMemory(d, f))...)
	text = append(text, check(badPair(d, f))...)
	text = append(text, check(badPool(d, a.queue, f))...)
	text = append(text, check(badRequests(q, f.local))...)
	text = append(text, check(badReceives(q, f.local))...)
	text = append(text, check(badControls(a, q))...)
	return Result{Text: text}, f.close()
}

// foreign is what belongs elsewhere, or is closed already.
type foreign struct {
	device      *verbs.Device
	queue       *verbs.CompletionQueue
	domain      *verbs.Domain          // of the end's own device
	pool        *verbs.SharedReceives  // of that domain; nil if the device has none
	own         *verbs.CompletionQueue // of the end's own device
	local       *verbs.Memory          // of the end's own domain
	closedQueue *verbs.CompletionQueue
	opened      []closer // children first
}

func openForeign(a *agent) (*foreign, error) {
	inner, err := a.another()
	if err != nil {
		return nil, err
	}
	f := &foreign{}
	var failed [6]error
	f.device, failed[0] = verbs.Open(inner)
	f.queue, failed[1] = f.device.NewCompletionQueue(16)
	f.domain, failed[2] = a.device.NewDomain()
	f.own, failed[3] = a.device.NewCompletionQueue(64)
	f.local, failed[4] = a.domains.items[0].Alloc(64, 0)
	f.closedQueue, failed[5] = a.device.NewCompletionQueue(64)
	f.opened = []closer{f.local, f.domain, f.own, f.queue, f.device}
	pool, err := f.domain.NewSharedReceives(verbs.SharedConfig{Completions: f.own, Depth: 2})
	if err == nil {
		f.pool = pool
		f.opened = append([]closer{pool}, f.opened...)
	}
	if err := errors.Join(failed[:]...); err != nil {
		return nil, err
	}
	return f, f.closedQueue.Close()
}

func (f *foreign) close() error {
	var failed error
	for _, o := range f.opened {
		failed = errors.Join(failed, o.Close())
	}
	return failed
}

const badAccess = verbs.Access(0x80)

func badDevice(d *verbs.Device) []attempt {
	queue := func(depth int) func() error {
		return func() error { return failure(d.NewCompletionQueue(depth)) }
	}
	return []attempt{
		{"open without a provider", verbs.ErrArgument, func() error { return failure(verbs.Open(nil)) }},
		{"completion queue of depth 0", verbs.ErrLimit, queue(0)},
		{"completion queue of depth -1", verbs.ErrLimit, queue(-1)},
		{"completion queue over the limit", verbs.ErrLimit, queue(d.Limits().MaxCompletion + 1)},
		{"close a device in use", verbs.ErrInUse, d.Close},
	}
}

func badMemory(d *verbs.Domain, f *foreign) []attempt {
	words := make([]uint64, 4)
	unaligned := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 32)[1:9]
	m := f.local
	access := func(want error, q *verbs.CompletionQueue, access verbs.Access) func() error {
		return func() error { return notSupportedIs(want, m.SetAccess(q, 1, access)) }
	}
	return []attempt{
		{"alloc of 0 bytes", verbs.ErrArgument, func() error { return failure(d.Alloc(0, 0)) }},
		{"alloc of -1 bytes", verbs.ErrArgument, func() error { return failure(d.Alloc(-1, 0)) }},
		{"alloc with unknown access", verbs.ErrArgument, func() error { return failure(d.Alloc(8, badAccess)) }},
		{"register nothing", verbs.ErrArgument, func() error { return failure(d.Register(nil, 0)) }},
		{"register unaligned bytes", verbs.ErrArgument, func() error { return failure(d.Register(unaligned, 0)) }},
		{"register with unknown access", verbs.ErrArgument, func() error { return failure(d.Register(unaligned[7:], badAccess)) }},
		{"memory access without a queue", verbs.ErrArgument, access(verbs.ErrArgument, nil, 0)},
		{"memory access that is unknown", verbs.ErrArgument, access(verbs.ErrArgument, f.own, badAccess)},
		{"memory access to a foreign queue", verbs.ErrForeign, access(verbs.ErrForeign, f.queue, 0)},
		{"memory access to a closed queue", verbs.ErrClosed, access(verbs.ErrClosed, f.closedQueue, 0)},
		{"mark of memory with bytes", verbs.ErrNotSupported, func() error { return m.Mark(0, 8, verbs.Origin{}) }},
		{"a word that is not aligned", errPanicked, func() error { return panics(func() { m.Load64(4) }) }},
		{"a word behind the memory", errPanicked, func() error { return panics(func() { m.Load64(64) }) }},
		{"a word before the memory", errPanicked, func() error { return panics(func() { m.Store64(-8, 1) }) }},
	}
}

// notSupportedIs lets a device without the capability pass.
func notSupportedIs(want, err error) error {
	if errors.Is(err, verbs.ErrNotSupported) {
		return want
	}
	return err
}

var errPanicked = errors.New("panicked, as indexing does")

// panics says whether f panicked, as the doc comment of Load64 and Store64 promises.
func panics(f func()) (err error) {
	defer func() {
		if recover() != nil {
			err = errPanicked
		}
	}()
	f()
	return nil
}

func badPair(d *verbs.Domain, f *foreign) []attempt {
	l := d.Device().Limits()
	with := func(change func(*verbs.QueueConfig)) func() error {
		config := verbs.QueueConfig{Completions: f.own, SendDepth: 2, ReceiveDepth: 2}
		change(&config)
		return func() error { return failure(d.NewQueuePair(config)) }
	}
	list := []attempt{
		{"pair without a queue", verbs.ErrArgument, with(func(c *verbs.QueueConfig) { c.Completions = nil })},
		{"pair with a foreign queue", verbs.ErrForeign, with(func(c *verbs.QueueConfig) { c.Completions = f.queue })},
		{"pair with a closed queue", verbs.ErrClosed, with(func(c *verbs.QueueConfig) { c.Completions = f.closedQueue })},
		{"pair with unknown access", verbs.ErrArgument, with(func(c *verbs.QueueConfig) { c.Access = badAccess })},
		{"pair that waits -1", verbs.ErrArgument, with(func(c *verbs.QueueConfig) { c.ReceiverWait = -1 })},
		{"pair that does not fit its queue", verbs.ErrQueueFull, with(func(c *verbs.QueueConfig) { c.SendDepth = 63 })},
	}
	if f.pool != nil {
		list = append(list, attempt{"pair with shared receives of another domain", verbs.ErrForeign,
			with(func(c *verbs.QueueConfig) { c.Shared = f.pool })})
	}
	for _, n := range []struct {
		name  string
		field func(*verbs.QueueConfig) *int
		limit int
	}{
		{"SendDepth", func(c *verbs.QueueConfig) *int { return &c.SendDepth }, l.MaxDepth},
		{"ReceiveDepth", func(c *verbs.QueueConfig) *int { return &c.ReceiveDepth }, l.MaxDepth},
		{"MaxSpans", func(c *verbs.QueueConfig) *int { return &c.MaxSpans }, l.MaxSpans},
		{"MaxInline", func(c *verbs.QueueConfig) *int { return &c.MaxInline }, l.MaxInline},
	} {
		for _, value := range []int{-1, n.limit + 1, math.MaxInt, math.MinInt} {
			list = append(list, attempt{fmt.Sprintf("pair with %s %d", n.name, value), verbs.ErrLimit,
				with(func(c *verbs.QueueConfig) { *n.field(c) = value })})
		}
	}
	return list
}

func badPool(d *verbs.Domain, own *verbs.CompletionQueue, f *foreign) []attempt {
	if f.pool == nil {
		return nil
	}
	l := d.Device().Limits()
	with := func(config verbs.SharedConfig) func() error {
		return func() error { return failure(d.NewSharedReceives(config)) }
	}
	return []attempt{
		{"pool without a queue", verbs.ErrArgument, with(verbs.SharedConfig{})},
		{"pool with a foreign queue", verbs.ErrForeign, with(verbs.SharedConfig{Completions: f.queue})},
		{"pool with a closed queue", verbs.ErrClosed, with(verbs.SharedConfig{Completions: f.closedQueue})},
		{"pool of depth -1", verbs.ErrLimit, with(verbs.SharedConfig{Completions: own, Depth: -1})},
		{"pool over the limit", verbs.ErrLimit, with(verbs.SharedConfig{Completions: own, Depth: l.MaxDepth + 1})},
		{"pool of -1 spans", verbs.ErrLimit, with(verbs.SharedConfig{Completions: own, MaxSpans: -1})},
		{"pool of too many spans", verbs.ErrLimit, with(verbs.SharedConfig{Completions: own, MaxSpans: l.MaxSpans + 1})},
		{"pool that does not fit its queue", verbs.ErrQueueFull, with(verbs.SharedConfig{Completions: f.own, Depth: 65})},
		{"shared receive with a bad span", verbs.ErrBounds, func() error { return f.pool.Receive(1, f.local.Span(60, 8)) }},
	}
}
