package soft

import (
	"fmt"

	"github.com/weft-fabric/weft/verbs/driver"
)

// This file is the device's book of what was made from it.

// name gives a new queue pair its number and its first life, and makes it known. Numbers are not used again soon, so that
// a late completion is not taken for a new queue pair's.
func (d *Device) name(q *QueuePair) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(); err != nil {
		return err
	}
	if len(d.pairs) == maxQueuePairs {
		return fmt.Errorf("soft: device %s has %d queue pairs already: %w", d.config.Name, maxQueuePairs, driver.ErrLimit)
	}
	for d.lastNumber++; d.lastNumber == 0 || d.pairs[d.lastNumber] != nil; {
		d.lastNumber++
	}
	q.number = d.lastNumber
	if err := q.beginLife(d.nextEpoch()); err != nil {
		return err
	}
	d.pairs[q.number] = q
	return nil
}

// nextEpoch returns a fresh epoch, never 0.
func (d *Device) nextEpoch() uint32 {
	for {
		if epoch := d.epoch.Add(1); epoch != 0 {
			return epoch
		}
	}
}

// queuePair returns the open queue pair with a number, or nil.
func (d *Device) queuePair(number uint32) *QueuePair {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.pairs[number]
}

// presentLife returns the life that the open queue pair with a number is in, or nil if there is no such queue pair.
func (d *Device) presentLife(number uint32) *life {
	if q := d.queuePair(number); q != nil {
		return q.life.Load()
	}
	return nil
}

func (d *Device) forgetPair(q *QueuePair) {
	d.mu.Lock()
	delete(d.pairs, q.number)
	d.mu.Unlock()
}

func (d *Device) forgetDomain(domain *Domain) {
	d.mu.Lock()
	delete(d.domains, domain)
	d.mu.Unlock()
	d.neighbours.forget(domain.number)
}

// forgetQueue is called with the queue's lock held.
func (d *Device) forgetQueue(c *CompletionQueue) {
	d.mu.Lock()
	d.closedLocks += c.turns
	delete(d.queues, c)
	d.mu.Unlock()
}

func (c *CompletionQueue) countLocks() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turns
}
