package hook

import "github.com/weft-fabric/weft/verbs/driver"

func (t *Tracer) completions(inner completionParts) completionParts {
	inner.CompletionQueue = &tracedQueue{inner.CompletionQueue, t}
	return inner
}

func (t *Tracer) queuePair(inner driver.QueuePair, _ driver.QueueConfig, _ driver.CompletionQueue) driver.QueuePair {
	return &tracedQueuePair{inner, inner.Number(), t}
}

func (t *Tracer) shared(inner driver.SharedReceives, _ driver.CompletionQueue) driver.SharedReceives {
	return &tracedReceives{inner, t}
}

// tracedQueuePair stamps a call before and after it is passed on. The clock is read twice for a list, however long.
type tracedQueuePair struct {
	driver.QueuePair
	number uint32 // kept here: asking the device would stand in the stamped interval
	tracer *Tracer
}

func (q *tracedQueuePair) Post(list []driver.Request) (int, error) {
	called := q.tracer.clock.Now()
	n, err := q.QueuePair.Post(list)
	q.tracer.posted(q.number, list[:n], called, q.tracer.clock.Now())
	return n, err
}

func (q *tracedQueuePair) PostReceive(list []driver.Receive) (int, error) {
	called := q.tracer.clock.Now()
	n, err := q.QueuePair.PostReceive(list)
	q.tracer.postedReceives(q.number, list[:n], called, q.tracer.clock.Now())
	return n, err
}

func (q *tracedQueuePair) Connect(tag driver.Tag, peer driver.Address) error {
	return q.control(driver.OpConnect, tag, func() error { return q.QueuePair.Connect(tag, peer) })
}

func (q *tracedQueuePair) SetAccess(tag driver.Tag, access driver.Access) error {
	return q.control(driver.OpQueueAccess, tag, func() error { return q.QueuePair.SetAccess(tag, access) })
}

func (q *tracedQueuePair) Reset(tag driver.Tag) error {
	return q.control(driver.OpReset, tag, func() error { return q.QueuePair.Reset(tag) })
}

// control records a call that completes too but is not posted in a list.
func (q *tracedQueuePair) control(op driver.Op, tag driver.Tag, call func() error) error {
	t := q.tracer
	called := t.clock.Now()
	err := call()
	if err != nil {
		return err
	}
	returned := t.clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.called(Record{Tag: tag, Queue: q.number, Op: op}, called, returned)
	return nil
}

// tracedReceives stamps shared receives. Which queue pair will take one is not known yet, so they carry number 0.
type tracedReceives struct {
	driver.SharedReceives
	tracer *Tracer
}

func (r *tracedReceives) PostReceive(list []driver.Receive) (int, error) {
	called := r.tracer.clock.Now()
	n, err := r.SharedReceives.PostReceive(list)
	r.tracer.postedReceives(0, list[:n], called, r.tracer.clock.Now())
	return n, err
}

// tracedQueue stamps what a Poll found, all with the moment when the Poll returned. One that found nothing leaves no
// record: it would soon push everything else out of the ring.
type tracedQueue struct {
	driver.CompletionQueue
	tracer *Tracer
}

func (q *tracedQueue) Poll(into []driver.Completion) (int, error) {
	n, err := q.CompletionQueue.Poll(into)
	if n > 0 {
		q.tracer.completed(into[:n], q.tracer.clock.Now())
	}
	return n, err
}
