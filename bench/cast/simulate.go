package cast

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/hugepages"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/verbs"
)

// realMemory is how many bytes a simulation may have. What is more is phantom.
const realMemory = 256 << 20

// lookEvery is how many events pass before a simulation looks whether it shall end.
const lookEvery = 1 << 14

// manyNodes is from how many on a simulation is slow because of where its memory lies.
const manyNodes = 1000

// nodeMemory is about what a node takes that has 28 links: others have 14, or two, and take 90 KiB or less.
const nodeMemory = 128 << 10

// settled is how many events it takes until all nodes of a large simulation have used all their links.
const settled = 200 * lookEvery

// simulation is a group in one process, in virtual time.
type simulation struct {
	ctx      context.Context
	job      *Job
	shape    Fabric
	fabric   *sim.Fabric
	racks    []int // as the algorithm knows them
	crossing crossing
	devices  []*verbs.Device
	nodes    []*node
	ready    int // groups that are connected
	ended    int // members that have completed or failed in this run
	events   int // so far
	began    time.Time
	memory   uint64 // the most that was seen
	broken   bool
	advance  atomic.Int64 // blocks of the run that have left the root
}

// Simulate carries out a job in the simulator, on links of Job.Rate.
func Simulate(ctx context.Context, job *Job, shape Fabric, watch Watch) (report *Report, err error) {
	if err := job.Validate(); err != nil {
		return nil, err
	}
	if shape, err = shape.of(job); err != nil {
		return nil, err
	}
	job, chosen, err := shape.complete(job)
	if err != nil {
		return nil, err
	}
	s := &simulation{ctx: ctx, job: job, shape: shape, began: time.Now()}
	if err := s.build(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.form(); err != nil {
		return nil, err
	}
	report = newReport(job, "sim", ClockVirtual)
	report.Simulated, report.Phantom, report.Chosen = true, s.phantom(), chosen
	if len(s.nodes) >= manyNodes {
		hugepages.Collapse()
	}
	watch.formed(report)
	for run := range job.runs() {
		watch.begin(run, job.runs(), func() int { return int(s.advance.Load()) })
		took, err := s.run(run)
		report.Simulation = s.account()
		if err != nil {
			return report, err
		}
		watch.ran(report, report.add(took, job.Runs > 1 && run == 0))
	}
	return report, nil
}

func (s *simulation) phantom() bool { return s.job.Size*uint64(len(s.job.Members)) > realMemory }

// build makes the network.
func (s *simulation) build() (err error) {
	s.racks = s.job.rackOf()
	config := s.shape.config(s.job)
	if len(s.shape.Racks) > 1 {
		s.crossing.rackOf = rackOf(s.shape.Racks)
		config.Observe = s.crossing.observe
	}
	s.fabric, err = sim.New(config)
	return err
}

// account says what the simulation has cost, and what has crossed racks in the last run.
func (s *simulation) account() Simulation {
	s.memory = max(s.memory, usedMemory())
	shape := s.shape.Used() // of its own: whoever keeps the report must not keep all nodes
	return Simulation{Fabric: &shape, CrossRack: s.crossing.count, Events: s.fabric.Events(),
		Wall: time.Since(s.began).Seconds(), PeakMemory: s.memory}
}

// form makes the members, and connects them.
func (s *simulation) form() error {
	racks := rackOf(s.shape.Racks)
	if len(s.job.Members) >= manyNodes {
		hugepages.Reserve(len(s.job.Members) * nodeMemory)
	}
	for rank, name := range s.job.Members {
		config := sim.NodeConfig{Name: name, Rate: s.job.Rate}
		if len(racks) > 0 {
			config.Rack = racks[rank]
		}
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if err := s.addNode(rank, config); err != nil {
			return fmt.Errorf("member %d: %w", rank, err)
		}
	}
	if err := s.shape.slow(s.fabric, s.job.Members); err != nil {
		return err
	}
	return s.connect()
}

func (s *simulation) connect() error {
	for rank, n := range s.nodes {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		for _, peer := range n.groups[multicast].Peers() {
			if err := n.groups[multicast].Connect(peer, s.nodes[peer].groups[multicast].Addresses(rank)); err != nil {
				return fmt.Errorf("member %d: %w", rank, err)
			}
		}
		if err := n.queue.Flush(); err != nil {
			return err
		}
	}
	if err := s.runUntil(func() bool { return s.ready == len(s.nodes) }); err != nil {
		return err
	}
	return s.settle()
}

// settle lets the first credits arrive, so that a message does not wait for them: groups are there for many messages.
func (s *simulation) settle() error {
	words := 0
	for _, n := range s.nodes {
		words = max(words, len(n.groups[multicast].Peers()))
	}
	const far = 10 // more than the way between racks is longer than in one
	return s.fabric.Run(s.fabric.Now().Add(far*s.shape.OneWay() + time.Duration(words)*s.shape.Message))
}

func (s *simulation) addNode(rank int, config sim.NodeConfig) error {
	nic, err := s.fabric.NewDevice(config)
	if err != nil {
		return err
	}
	device, err := verbs.Open(nic)
	if err != nil {
		return err
	}
	s.devices = append(s.devices, device)
	n, err := newNode(s.job, rank, device, s.phantom(), func() int64 { return int64(s.fabric.Now()) })
	if err != nil {
		return err
	}
	s.nodes = append(s.nodes, n)
	n.changed = func() {
		s.ended++
		s.broken = s.broken || len(n.failed) > 0
	}
	n.shapes[multicast].Racks = s.racks // one list for thousands of members
	group := n.configs()[multicast]
	group.Ready = func() { s.ready++ }
	made, err := rdmc.New(n.loop, n.domain, group)
	if err == nil {
		n.made(made)
	}
	return err
}

// runUntil lets virtual time pass until done is true, or somebody wants an end.
func (s *simulation) runUntil(done func() bool) error {
	err := s.fabric.RunUntil(func() bool {
		return done() || s.broken || s.look()
	}, clock.Never)
	return errors.Join(err, s.ctx.Err(), s.failure())
}

// look reports now and then whether somebody wants an end, and keeps how far the run is.
func (s *simulation) look() bool {
	if s.events++; s.events%lookEvery != 0 {
		return false
	}
	if s.events == settled && len(s.nodes) >= manyNodes {
		hugepages.Collapse() // what was made by first uses, too
	}
	s.advance.Store(int64(s.nodes[0].advance(multicast)))
	s.memory = max(s.memory, usedMemory())
	return s.ctx.Err() != nil
}

// failure is why the group has ended, if it has.
func (s *simulation) failure() error {
	for _, n := range s.nodes {
		if s.broken && len(n.failed) > 0 {
			return <-n.failed
		}
	}
	return nil
}

// run sends one message, and returns what it took of each member.
func (s *simulation) run(run int) ([]cost, error) {
	root := s.nodes[0]
	if err := root.fill(run); err != nil {
		return nil, err
	}
	var start int64
	var failed error
	s.ended = 0
	s.crossing.begin(s.job)
	if err := root.loop.Do(func() { start, failed = root.send(multicast) }); err != nil {
		return nil, err
	}
	if err := s.runUntil(func() bool { return s.ended == len(s.nodes) || failed != nil }); err != nil || failed != nil {
		return nil, errors.Join(failed, err)
	}
	took := make([]cost, len(s.nodes))
	for rank, n := range s.nodes {
		c := <-n.completed
		took[rank].time = time.Duration(c.at - start)
		if err := errors.Join(n.check(c, run), n.loop.Do(c.release)); err != nil {
			return nil, fmt.Errorf("member %d: %w", rank, err)
		}
	}
	return took, nil
}

func (s *simulation) close() (err error) {
	for _, n := range s.nodes {
		err = errors.Join(err, n.close())
	}
	for _, device := range s.devices {
		err = errors.Join(err, device.Close())
	}
	return err
}
