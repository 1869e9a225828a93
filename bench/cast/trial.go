package cast

import (
	"context"
	"errors"
	"time"

	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/muster"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Before a job that leaves something open, the root and member 1 try out the lane with groups of their own: the root sends
// and takes the time until its sends have ended, so that no clock but its own counts. Member 1 takes no notice of what comes.

// What is sent: a few bytes, whose way there and back is the latency; as many blocks of hardly any bytes, which show what
// a block costs; and more and more, until it takes long enough to tell the rate.
const (
	pings      = 8
	fineBlock  = 256
	fineBlocks = 64
	leastTrial = 64 << 10
	mostTrial  = 8 << 20
	trialShare = 16 // of the message, at most one part of so many is sent in one go
	trialTime  = 25 * time.Millisecond
	trialTimes = 3 // of each, of which the fastest counts
)

// The groups of a trial.
const (
	coarse = iota
	fine
)

// trialBytes is how much is sent in one go, at most.
func (j *Job) trialBytes() uint64 { return min(max(j.Size/trialShare, leastTrial), mostTrial) }

// trial is a job for the root and member 1 which is not decided, so that its node has memory and no groups yet.
func (j *Job) trial() *Job {
	return &Job{Members: j.Members[:2], Size: j.trialBytes(), Wait: j.Wait, Timeout: j.Timeout, Seed: j.Seed}
}

// trialGroups are those of a trial. A chain with several blocks under way waits for nothing but the link.
func (j *Job) trialGroups(rank int) []rdmc.Config {
	c := j.group(rank)
	c.Name, c.Algorithm, c.Stripes, c.Credits = "trial", schedule.Chain, 4, 8
	c.BlockSize = int(min(max(j.Size/4, leastTrial), largeBlock))
	small := c
	small.Name, small.BlockSize, small.MaxMessage = "trial of blocks", fineBlock, fineBlock*fineBlocks
	return []rdmc.Config{c, small}
}

// openTrial makes this member's end of a trial. It is closed like a device, which it has not.
func (m *member) openTrial(ctx context.Context) (*member, error) {
	t := &member{job: m.job.trial(), rank: m.rank}
	if err := t.beginTrial(ctx, m); err != nil {
		return nil, errors.Join(err, t.closeDevice())
	}
	return t, nil
}

// beginTrial makes the groups of a trial on a member's device, between two members of its mesh.
func (m *member) beginTrial(ctx context.Context, of *member) (err error) {
	if m.mesh, err = of.mesh.Among(0, 1); err != nil {
		return err
	}
	if m.node, err = newNode(m.job, m.rank, of.device, false, hostClock); err != nil {
		return err
	}
	m.node.ignores = m.rank > 0
	if err := m.node.prepare(m.job.trialGroups(m.rank)); err != nil {
		return err
	}
	if err := m.node.loop.Start(); err != nil {
		return err
	}
	var plans []muster.Plan
	for _, config := range m.node.configs() {
		plans = append(plans, muster.Plan{Config: config, Made: m.node.made, Ranks: []int{0, 1}})
	}
	m.groups, err = muster.Create(ctx, m.mesh, m.node.loop, m.node.domain, plans)
	return err
}

// measure finds out what the links are like. A rate that is known is taken as it is.
func (m *member) measure(ctx context.Context, known float64) (l Links, err error) {
	began := time.Now()
	there, err := m.best(ctx, coarse, 8, pings)
	if err != nil {
		return l, err
	}
	blocks, err := m.best(ctx, fine, fineBlock*fineBlocks, trialTimes)
	if err != nil {
		return l, err
	}
	l = Links{Rate: known, Latency: there.Seconds() / 2, Message: max(0, (blocks-there).Seconds()) / fineBlocks}
	if known == 0 {
		l.Rate, err = m.rate(ctx)
	}
	l.Took = time.Since(began).Seconds()
	return l, err
}

// rate sends more and more. What a longer message takes longer than a shorter one tells the rate: with the rest of it, there
// are latencies, and queues in front of the link that take in its first bytes at once.
func (m *member) rate(ctx context.Context) (bits float64, err error) {
	var before time.Duration
	for size, most := uint64(leastTrial), uint64(len(m.node.memory.Bytes())); ; size *= 4 {
		took, err := m.best(ctx, coarse, min(size, most), trialTimes)
		if err != nil {
			return 0, err
		}
		bits = 8 * rate(min(size, most), took.Seconds())
		if before > 0 && took > before*3/2 {
			bits = 8 * rate(min(size, most)-size/4, (took-before).Seconds())
		}
		if took >= trialTime || size >= most {
			return bits, nil
		}
		before = took
	}
}

// best is the shortest time that a message takes, of several, or of two if that takes long: one alone may have met with
// something else that the host does.
func (m *member) best(ctx context.Context, group int, size uint64, times int) (best time.Duration, err error) {
	var sum time.Duration
	for i := 0; i < times && (i < 2 || sum < trialTime); i++ {
		m.node.job.Size = size // the loop looks at it when it sends
		start, err := m.submit(ctx, group)
		if err != nil {
			return 0, err
		}
		c, err := m.await(ctx)
		if err != nil {
			return 0, err
		}
		if err := m.node.loop.Do(c.release); err != nil {
			return 0, err
		}
		took := time.Duration(c.at - start)
		if sum += took; i == 0 || took < best {
			best = took
		}
	}
	return best, nil
}
