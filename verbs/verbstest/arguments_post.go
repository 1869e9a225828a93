package verbstest

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/verbs"
)

// This file is the calls with bad arguments that post or control, and closing in the wrong order.

func badRequests(q *verbs.QueuePair, m *verbs.Memory) []attempt {
	limits := q.Completions().Device().Limits()
	far := verbs.RemoteSpan{Length: 64}
	huge := verbs.RemoteSpan{Length: 1 << 40}
	good := m.Span(0, 8)
	stage := func(r verbs.Request) func() error { return func() error { return q.Stage(&r) } }
	list := []attempt{
		{"no operation", verbs.ErrArgument, stage(verbs.Request{})},
		{"a receive as a request", verbs.ErrArgument, stage(verbs.Request{Op: verbs.OpReceive})},
		{"operation 99", verbs.ErrArgument, stage(verbs.Request{Op: 99})},
		{"unknown flags", verbs.ErrArgument, func() error { return q.Send(1, good, 0x80) }},
		{"span behind its memory", verbs.ErrBounds, func() error { return q.Send(1, m.Span(60, 8), 0) }},
		{"span before its memory", verbs.ErrBounds, func() error { return q.Send(1, m.Span(-1, 8), 0) }},
		{"span of -1 bytes", verbs.ErrBounds, func() error { return q.Send(1, m.Span(0, -1), 0) }},
		{"a bad further piece", verbs.ErrBounds, stage(verbs.Request{Op: verbs.OpSend, Span: good,
			More: []verbs.Span{m.Span(64, 1)}})},
		{"longer than the remote span", verbs.ErrBounds, func() error {
			return q.Write(1, good, verbs.RemoteSpan{Length: 7}, 0)
		}},
		{"remote span outside its memory", verbs.ErrBounds, func() error { return q.Read(1, good, m.Remote(57, 8), 0) }},
		{"atomic of 4 bytes", verbs.ErrArgument, func() error { return q.FetchAdd(1, m.Span(0, 4), far, 1, 0) }},
		{"atomic of 16 bytes", verbs.ErrArgument, func() error { return q.CompareSwap(1, m.Span(0, 16), far, 1, 1, 0) }},
		{"atomic from an unaligned word", verbs.ErrArgument, func() error { return q.FetchAdd(1, m.Span(4, 8), far, 1, 0) }},
		{"atomic on an unaligned word", verbs.ErrArgument, func() error {
			return q.FetchAdd(1, good, verbs.RemoteSpan{Address: 12, Length: 8}, 1, 0)
		}},
		{"inline read", verbs.ErrArgument, func() error { return q.Read(1, good, far, verbs.Inline) }},
		{"inline atomic", verbs.ErrArgument, func() error { return q.FetchAdd(1, good, far, 1, verbs.Inline) }},
		{"inline over the limit", verbs.ErrLimit, func() error {
			return q.Send(1, verbs.Span{Length: uint32(limits.MaxInline + 1)}, verbs.Inline)
		}},
		{"too many pieces", verbs.ErrLimit, stage(verbs.Request{Op: verbs.OpSend, More: make([]verbs.Span, limits.MaxSpans)})},
		{"a message over the limit", verbs.ErrLimit, stage(verbs.Request{Op: verbs.OpWrite, Remote: huge,
			Span: verbs.Span{Length: limits.MaxMessage}, More: []verbs.Span{{Length: 1}}})},
		{"a message over 4 GiB", verbs.ErrLimit, stage(verbs.Request{Op: verbs.OpWrite, Remote: huge,
			Span: verbs.Span{Length: 1<<32 - 2}, More: []verbs.Span{{Length: 1<<32 - 2}}})},
	}
	if !limits.Chains {
		list = append(list, attempt{"a chain", verbs.ErrNotSupported, stage(verbs.Request{Op: verbs.OpSend, After: q.Arrival(1)})})
	}
	return list
}

func badReceives(q *verbs.QueuePair, m *verbs.Memory) []attempt {
	limits := q.Completions().Device().Limits()
	return []attempt{
		{"receive behind its memory", verbs.ErrBounds, func() error { return q.Receive(1, m.Span(60, 8)) }},
		{"receive with a bad further piece", verbs.ErrBounds, func() error {
			return q.StageReceive(&verbs.Receive{More: []verbs.Span{m.Span(64, 1)}})
		}},
		{"receive of too many pieces", verbs.ErrLimit, func() error {
			return q.StageReceive(&verbs.Receive{More: make([]verbs.Span, limits.MaxSpans)})
		}},
	}
}

// badControls also starts as many changes of access as may be under way; nobody polls before it has seen that one more
// is refused.
func badControls(a *agent, q *verbs.QueuePair) []attempt {
	for range verbs.ControlRoom {
		if err := q.SetAccess(a.port.Tag(1), verbs.RemoteAll); err != nil {
			return []attempt{{fmt.Sprintf("change of access that fits (%v)", err), nil, func() error { return err }}}
		}
	}
	return []attempt{
		{"unknown access", verbs.ErrArgument, func() error { return q.SetAccess(a.port.Tag(1), badAccess) }},
		{"one control too many", verbs.ErrQueueFull, func() error { return q.SetAccess(a.port.Tag(1), 0) }},
		{"reset as one control too many", verbs.ErrQueueFull, func() error { return q.Reset(a.port.Tag(1)) }},
	}
}

// CloseOrder opens one of everything on the end's device and closes it in the wrong order, and twice. Result: Text, the
// complaints.
type CloseOrder struct {
	Unused bool // gob carries no struct without fields
}

func (c CloseOrder) carryOut(a *agent) (Result, error) {
	inner, err := a.another()
	if err != nil {
		return Result{}, err
	}
	device, err := verbs.Open(inner)
	if err != nil {
		return Result{}, err
	}
	domain, err := device.NewDomain()
	if err != nil {
		return Result{}, err
	}
	queue, err := device.NewCompletionQueue(64)
	if err != nil {
		return Result{}, err
	}
	memory, err := domain.Alloc(64, 0)
	if err != nil {
		return Result{}, err
	}
	pair, err := domain.NewQueuePair(verbs.QueueConfig{Completions: queue, SendDepth: 4, ReceiveDepth: 4})
	if err != nil {
		return Result{}, err
	}
	text := check([]attempt{
		{"close a device with children", verbs.ErrInUse, device.Close},
		{"close a domain with children", verbs.ErrInUse, domain.Close},
		{"close a completion queue with a queue pair", verbs.ErrInUse, queue.Close},
		{"close a queue pair", nil, pair.Close},
		{"close a queue pair twice", nil, pair.Close},
		{"close a domain with memory", verbs.ErrInUse, domain.Close},
		{"close memory", nil, memory.Close},
		{"close memory twice", nil, memory.Close},
		{"close a domain", nil, domain.Close},
		{"close a device with a completion queue", verbs.ErrInUse, device.Close},
		{"close a completion queue", nil, queue.Close},
		{"close a completion queue twice", nil, queue.Close},
		{"close a domain twice", nil, domain.Close},
		{"close a device", nil, device.Close},
		{"close a device twice", nil, device.Close},
	})
	return Result{Text: append(text, check(afterClose(device, domain, queue, pair, memory))...)}, nil
}

// afterClose is every call on closed objects.
func afterClose(device *verbs.Device, domain *verbs.Domain, queue *verbs.CompletionQueue, pair *verbs.QueuePair,
	memory *verbs.Memory) []attempt {
	poll := func() error {
		_, err := queue.Poll(make([]verbs.Completion, 1))
		return err
	}
	return []attempt{
		{"domain of a closed device", verbs.ErrClosed, func() error { return failure(device.NewDomain()) }},
		{"completion queue of a closed device", verbs.ErrClosed, func() error { return failure(device.NewCompletionQueue(8)) }},
		{"alloc in a closed domain", verbs.ErrClosed, func() error { return failure(domain.Alloc(8, 0)) }},
		{"poll of a closed queue", verbs.ErrClosed, poll},
		{"wait on a closed queue", verbs.ErrClosed, func() error { return queue.Wait(context.Background()) }},
		{"send on a closed pair", verbs.ErrClosed, func() error { return pair.Send(1, verbs.Span{}, 0) }},
		{"receive on a closed pair", verbs.ErrClosed, func() error { return pair.Receive(1, verbs.Span{}) }},
		{"connect a closed pair", verbs.ErrClosed, func() error { return pair.Connect(1, "x") }},
		{"reset of a closed pair", verbs.ErrClosed, func() error { return pair.Reset(1) }},
		{"access of a closed pair", verbs.ErrClosed, func() error { return pair.SetAccess(1, 0) }},
		{"access of closed memory", verbs.ErrClosed, func() error { return memory.SetAccess(queue, 1, 0) }},
		{"a word of closed memory", errPanicked, func() error { return panics(func() { memory.Load64(0) }) }},
	}
}
