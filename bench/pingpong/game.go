package pingpong

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/weft-fabric/weft/bench/perftest"
	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/ibv"
	"github.com/weft-fabric/weft/verbs"
)

// What ibv_rc_pingpong takes unless it is told otherwise.
const (
	DefaultPort   = 18515
	DefaultSize   = 4096
	DefaultRounds = 1000
)

// Game is what both sides have to be told alike, and how this one plays.
type Game struct {
	Client  bool // this side has called, and begins
	Size    int  // of a message, in bytes
	Rounds  int  // messages in either direction
	Waiting loop.Waiting
	Silence time.Duration // the peer is given up if no message has come for so long
}

// Play plays with the peer at the other end of a connection, on an RDMA device. The connection stays the caller's; it has no
// further use. If ctx ends a game that has begun, the result is partial, and comes with the error.
func (g Game) Play(ctx context.Context, device *verbs.Device, conn net.Conn) (result perftest.Result, err error) {
	p, end, err := g.open(device)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, end.Close()) }()
	if g.Client {
		err = p.call(ctx, conn, end)
	} else {
		err = answer(ctx, conn, func(theirs line) (line, error) { return p.welcome(ctx, theirs, end) })
	}
	if err != nil {
		return result, err
	}
	if err := end.Loop.Do(p.becomePlaying); err != nil {
		return result, err
	}
	err = p.run(ctx, end.Loop)
	if err == nil || ctx.Err() != nil && p.trips.TotalCount() > 0 {
		result = p.result()
		result.Partial = err != nil
	}
	return result, err
}

// open opens what the player stands on.
func (g Game) open(device *verbs.Device) (*player, *connect.End, error) {
	end, err := connect.OpenEnd(device, connect.EndConfig{Memory: 2 * g.Size, Waiting: g.Waiting,
		Queue: verbs.QueueConfig{SendDepth: receives, ReceiveDepth: receives}})
	if err != nil {
		return nil, nil, err
	}
	p := &player{Game: g, pair: end.Pairs[0], memory: end.Memory, trips: perftest.NewHistogram(), pause: func() {}}
	if p.port, err = end.Loop.Add(p); err != nil {
		return nil, nil, errors.Join(err, end.Close())
	}
	for range receives {
		p.receive()
	}
	if p.err != nil {
		return nil, nil, errors.Join(p.err, end.Close())
	}
	return p, end, nil
}

// call is the client's way into the game.
func (p *player) call(ctx context.Context, conn net.Conn, end *connect.End) error {
	mine, err := ibv.ParseAddress(p.pair.Address())
	if err != nil {
		return err
	}
	told := firstGID(mine, addressOf(conn.LocalAddr()))
	theirs, err := ask(ctx, conn, announce(mine, told))
	if err != nil {
		return err
	}
	peer, own, err := peerOf(mine, theirs)
	if err != nil {
		return err
	}
	if own != told {
		return fmt.Errorf("the peer's GID is %v, which is reached from %v, and it was told %v: give it another -g",
			netip.AddrFrom16(theirs.gid).Unmap(), own, told)
	}
	return p.connect(ctx, peer, end)
}

// welcome is the server's.
func (p *player) welcome(ctx context.Context, theirs line, end *connect.End) (line, error) {
	mine, err := ibv.ParseAddress(p.pair.Address())
	if err != nil {
		return line{}, err
	}
	peer, own, err := peerOf(mine, theirs)
	if err != nil {
		return line{}, err
	}
	return announce(mine, own), p.connect(ctx, peer, end)
}

// connect runs the loop until the queue pair is connected.
func (p *player) connect(ctx context.Context, peer verbs.Address, end *connect.End) error {
	if err := p.pair.Connect(p.port.Tag(tagConnect), peer); err != nil {
		return err
	}
	return p.run(ctx, end.Loop)
}

// run runs the loop until the player wants a pause.
func (p *player) run(ctx context.Context, l *loop.Loop) error {
	inner, pause := context.WithCancel(ctx)
	defer pause()
	p.pause = pause
	if err := l.Run(inner); err != nil {
		return err
	}
	return errors.Join(ctx.Err(), p.err)
}

// result is what perf prints.
func (p *player) result() perftest.Result {
	r := perftest.Result{Run: perftest.Run{Operation: perftest.Send, Measure: perftest.Latency, Size: units.Size(p.Size)}}
	r.Messages = int64(p.received)
	r.Seconds = p.before.Sub(p.started).Seconds()
	r.Latency = perftest.NewSpread(p.trips, r.Run, 1)
	return r
}

// addressOf is the IP address of one end of a connection.
func addressOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
