package main

import (
	"context"
	"errors"
	"time"

	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find/static"
	"github.com/weft-fabric/weft/verbs"
)

// patience is when a peer is given up. On a machine that others use, one that polls may get no core for more than a second.
const patience = 10 * time.Second

// target is the name of the far side's service.
const target = "far"

// nodeSide is a process with a node, as most programs are.
type nodeSide struct {
	order   order
	device  *verbs.Device
	table   *static.Resolver // where the service is; the far side has none, because it has the service
	node    *ripc.Node
	service *ripc.Service // of the far side
}

// job is what the two sides do.
type job struct {
	near, far func(s *nodeSide) (outcome, error)
}

var jobs = map[string]job{
	"call": {(*nodeSide).call, (*nodeSide).answer},
	"lend": {(*nodeSide).lend, (*nodeSide).pull},
	"load": {(*nodeSide).load, (*nodeSide).receiveSlowly},
}

func newNodeSide(o order) (s *nodeSide, err error) {
	s = &nodeSide{order: o}
	if s.device, err = openDevice(o.Lane); err != nil || !o.Far {
		return s, err
	}
	if s.node, err = ripc.Open(ripc.Config{Device: s.device, Waiting: o.waiting()}); err == nil {
		s.service, err = s.node.Register(context.Background(), target)
	}
	if err != nil {
		err = errors.Join(err, s.close())
	}
	return s, err
}

func (s *nodeSide) hello() hello {
	if s.node == nil {
		return hello{}
	}
	return hello{Listen: s.node.Addresses()}
}

// meet opens the near side's node, which knows where the service is. It is linked by its first call.
func (s *nodeSide) meet(other hello) (err error) {
	if s.order.Far {
		return nil
	}
	if s.table, err = static.New(map[string][]string{target: other.Listen}); err != nil {
		return err
	}
	s.node, err = ripc.Open(ripc.Config{Device: s.device, Resolver: s.table, Waiting: s.order.waiting()})
	return err
}

func (s *nodeSide) work() (outcome, error) {
	if s.order.Far {
		return jobs[s.order.Job].far(s)
	}
	return jobs[s.order.Job].near(s)
}

func (s *nodeSide) close() (failed error) {
	if s.service != nil {
		failed = s.service.Close()
	}
	if s.node != nil {
		failed = errors.Join(failed, s.node.Close())
	}
	if s.table != nil {
		failed = errors.Join(failed, s.table.Close())
	}
	return errors.Join(failed, s.device.Close())
}
