// Cast gives a file to other processes, all at once, and goes on if one of them dies:
//
//	go run ./examples/cast 1 copy1          in one window
//	go run ./examples/cast 2 copy2          in another
//	go run ./examples/cast 0 FILE           in a third: member 0 sends
//
// Kill one of the receivers in the middle of a large file: the others finish it. Where the members meet is a constant here,
// on loopback. For several hosts change it to their addresses, and set TLS (or Plain) in connect.Options and soft.Config.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/connect/mesh"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/muster"
	"github.com/weft-fabric/weft/verbs"
)

// members are where they meet. The first is the root.
var members = []string{"127.0.0.1:7480", "127.0.0.1:7481", "127.0.0.1:7482"}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: cast 0 FILE, and cast 1 COPY, cast 2 COPY elsewhere")
	}
	self, err := strconv.Atoi(os.Args[1])
	if err == nil {
		err = run(context.Background(), self, os.Args[2])
	}
	if err != nil {
		log.Fatal("cast: ", err)
	}
}

// member is one process.
type member struct {
	mesh   *mesh.Mesh
	domain *verbs.Domain
	loop   *loop.Loop
	group  *rdmc.Group // belongs to the loop
	events chan any    // from the loop: a rdmc.Delivery or a *rdmc.Failure
	unsent *message    // what the root has to send, until it has
}

// message is where the file lies in memory.
type message struct {
	rdmc.Place
	size uint64
}

// run is the life of a member. What it opens stays open until the process ends.
func run(ctx context.Context, self int, path string) (err error) {
	m := &member{events: make(chan any, 8)}
	options := connect.Options{Name: "cast", Offers: []connect.Offer{{Provider: "soft"}}}
	if m.mesh, err = mesh.Join(ctx, mesh.Config{Self: self, Members: members, Options: options}); err != nil {
		return err
	}
	plan := muster.Plan{Config: rdmc.Config{Name: "file", Members: members, Incoming: m.incoming, Completed: m.completed,
		Failed: func(f *rdmc.Failure) { m.events <- f }}, Made: func(g *rdmc.Group) { m.group = g }}
	if err := m.open(plan.Config); err != nil {
		return err
	}
	groups, err := muster.Create(ctx, m.mesh, m.loop, m.domain, []muster.Plan{plan})
	if err != nil {
		return err
	}
	if self == 0 {
		if m.unsent, err = m.load(path); err != nil {
			return err
		}
	}
	d, err := m.finish(ctx, groups[0])
	if err != nil || self == 0 {
		return err
	}
	fmt.Printf("%d bytes for %s\n", d.Size, path)
	return os.WriteFile(path, d.Memory.Bytes()[d.Offset:][:d.Size], 0o600)
}

// open opens a device, and starts a loop on it with room for this group and those that come after failures.
func (m *member) open(config rdmc.Config) error {
	nic, err := soft.New(soft.Config{Lanes: soft.AllLanes})
	if err != nil {
		return err
	}
	device, err := verbs.Open(nic)
	if err != nil {
		return err
	}
	room, err := rdmc.CompletionRoom(config)
	if err != nil {
		return err
	}
	queue, err := device.NewCompletionQueue(room * len(members))
	if err != nil {
		return err
	}
	if m.domain, err = device.NewDomain(); err != nil {
		return err
	}
	if m.loop, err = loop.New(loop.Config{Completions: queue}); err != nil {
		return err
	}
	return m.loop.Start()
}

// incoming makes room for a message. It runs on the loop, as completed does: they must not block.
func (m *member) incoming(message rdmc.Message) rdmc.Place {
	memory, err := m.domain.Alloc(int(message.Size), 0)
	if err != nil {
		log.Fatal("cast: ", err)
	}
	return rdmc.Place{Memory: memory}
}

// completed keeps a message of one block, which lies in a buffer of the group's.
func (m *member) completed(d rdmc.Delivery) {
	m.group.Keep(d.Number)
	m.events <- d
}

// load reads the file into memory that the NIC knows.
func (m *member) load(path string) (*message, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	memory, err := m.domain.Alloc(max(len(content), 1), 0)
	if err != nil {
		return nil, err
	}
	copy(memory.Bytes(), content)
	return &message{rdmc.Place{Memory: memory}, uint64(len(content))}, nil
}

// send sends what the root has to send. If a member has died by now, that is after the group is mended.
func (m *member) send(ctx context.Context, group *muster.Group) error {
	if m.unsent == nil {
		return nil
	}
	err := group.Do(ctx, func(g *rdmc.Group) error {
		_, err := g.Send(m.unsent.Place, m.unsent.size)
		return err
	})
	if err == nil {
		m.unsent = nil
	}
	if errors.Is(err, rdmc.ErrEnded) {
		return nil
	}
	return err
}

// finish sends the message or waits for it, and mends the group as often as a member dies. Nobody leaves before all have it.
func (m *member) finish(ctx context.Context, group *muster.Group) (d rdmc.Delivery, err error) {
	var complete []rdmc.Holding
	for {
		if err := m.send(ctx, group); err != nil {
			return d, err
		}
		switch event := (<-m.events).(type) {
		case rdmc.Delivery:
			d, complete = event, []rdmc.Holding{muster.Complete(event)}
			if m.mesh.Barrier(ctx, "done") == nil {
				return d, nil
			} // otherwise somebody has died, and the failure of the group is on its way
		case *rdmc.Failure:
			fmt.Println(event)
			mended, err := muster.Mend(ctx, m.mesh, group, complete...)
			if err != nil {
				return d, err
			}
			if len(mended.Lost) > 0 {
				return d, errors.New("the root died before it had given everything away")
			}
			m.mesh, group = mended.Mesh, mended.Group
		}
	}
}
