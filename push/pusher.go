package push

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
	"github.com/weft-fabric/weft/push/source"
	"github.com/weft-fabric/weft/push/way"
	"github.com/weft-fabric/weft/rdmc/tune"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/verbs"
)

// errNobody is that no host is left. It is no error of the push as a whole: the report says what was wrong with each.
var errNobody = errors.New("no host is left")

// pusher is a push that is under way.
type pusher struct {
	Config
	id       manifest.ID
	key      ed25519.PrivateKey // the push's own
	began    time.Time
	hosts    []*host
	rootRack int
	board    *board

	place  *way.Place
	node   *ripc.Node
	source *source.Source
	cache  *source.Cache // of hashes; nil: none
	object *object       // the source, as blocks
	device *verbs.Device
	member *member.Member

	way       string
	otherWays []string // that all have too, the best first
	notRDMA   string   // why the way is not RDMA, if it might have been
	isProven  bool     // the manifest has reached all: the way leads there

	choice   tune.Choice
	manifest manifest.Layout
	content  manifest.Layout
	plan     *Plan

	epoch     int
	repairs   int
	traffic   traffic
	sending   time.Duration // of the content
	sentSince time.Time     // when the first block of content was sent; zero: not yet
	root      manifest.Hash

	links  links
	sha256 string
	stop   context.CancelCauseFunc // ends the push as a whole

	work    atomic.Uint64 // what this end does itself in a phase: entries scanned, bytes hashed
	total   atomic.Uint64 // of that; 0: not known
	calls   atomic.Uint64 // that ended well
	holes   atomic.Uint64 // signs that a hole of the source is hashed
	stage   atomic.Value  // string: the phase
	planned atomic.Pointer[Plan]
	saying  sync.Mutex // around Events

	servesSlow atomic.Bool            // all others are done
	bounds     atomic.Pointer[bounds] // nil: it is not known yet what there is to do
}

// Run pushes. The report says how it ended for each host, and Report.Exit is the exit code. The error is what ended the push as a whole: the
// source, the deadline, somebody who interrupts; without a report it is a mistake in the configuration.
func Run(ctx context.Context, c Config) (*Report, error) { return run(ctx, c, (*pusher).push) }

// Verify compares what hosts have with the source, and changes nothing.
func Verify(ctx context.Context, c Config) (*Report, error) { return run(ctx, c, (*pusher).verify) }

func run(ctx context.Context, c Config, work func(*pusher, context.Context) error) (*Report, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	p, err := newPusher(ctx, c)
	if err != nil {
		return nil, err
	}
	err = p.bounded(ctx, work)
	if wrong := p.close(err); wrong != nil {
		p.Log.Warn("the push did not end well", "error", wrong) // what counts is what hosts have
	}
	if errors.Is(err, ErrUsage) {
		return nil, err
	}
	report := p.report(err)
	p.emit(Event{Kind: EventReport, Report: report})
	return report, err
}

func newPusher(ctx context.Context, c Config) (*pusher, error) {
	p := &pusher{Config: c, began: time.Now(), board: newBoard(ctx), traffic: make(traffic)}
	p.stage.Store("")
	p.hosts, p.rootRack = newHosts(&c)
	if _, err := rand.Read(p.id[:]); err != nil {
		return nil, err
	}
	var err error
	_, p.key, err = ed25519.GenerateKey(rand.Reader)
	return p, err
}

// bounded does the work until it is done, the deadline is over, or nobody gets on.
func (p *pusher) bounded(ctx context.Context, work func(*pusher, context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if p.Deadline > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, p.Deadline, fmt.Errorf("%w: %v", ErrDeadline, p.Deadline))
		defer cancel()
		ctx = limited
	}
	var clock sync.WaitGroup
	defer clock.Wait()
	ticking, still := context.WithCancel(ctx)
	defer still()
	p.stop = stop
	clock.Go(func() { p.runClock(ticking, stop) })
	if err := work(p, ctx); !errors.Is(err, errNobody) {
		return err
	}
	return nil
}

// push does all of it.
func (p *pusher) push(ctx context.Context) error {
	if err := p.prepare(ctx); err != nil {
		return err
	}
	if err := p.open(ctx, false); err != nil || p.DryRun {
		return err
	}
	if err := p.join(); err != nil {
		return err
	}
	if err := p.deliverAll(ctx); err != nil && !errors.Is(err, errNobody) { // those that are slow may be left
		return err
	}
	return p.serveStragglers(ctx)
}

// prepare scans the source, while agents are asked who they are, and chooses how to send.
func (p *pusher) prepare(ctx context.Context) error {
	both, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	scanned := make(chan error, 1)
	var scanning sync.WaitGroup
	scanning.Go(func() {
		err := p.scan(both)
		if err != nil {
			stop(err)
		} else {
			p.phase("connect") // some hosts may take longer to answer
		}
		scanned <- err
	})
	err := p.connect(both)
	if err != nil {
		stop(err)
	}
	scanning.Wait()
	if wrong := <-scanned; wrong != nil && (err == nil || errors.Is(err, wrong)) {
		return wrong
	}
	if err != nil {
		return err
	}
	return p.choose(ctx)
}

func (p *pusher) scan(ctx context.Context) (err error) {
	p.phase("scan")
	p.source, err = source.Scan(ctx, source.Config{Paths: p.Sources, Spool: p.SpoolDir, Progress: func(entries, bytes uint64) {
		p.work.Add(1)
		p.emit(Event{Kind: EventScan, Files: entries, Bytes: bytes})
	}})
	if errors.Is(err, source.ErrDuplicate) { // nothing is wrong with the files, only with how they are named
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if err != nil && ctx.Err() == nil {
		return ofSource(err)
	}
	return orCauseOf(ctx, err)
}

// ofSource marks an error as one of the source.
func ofSource(err error) error { return &control.Trouble{Class: control.Source, Text: err.Error()} }

// phase says what is done now.
func (p *pusher) phase(name string) {
	p.stage.Store(name)
	p.work.Store(0)
	p.total.Store(0)
	p.emit(Event{Kind: EventPhase, Phase: name})
}

// emit tells of an event.
func (p *pusher) emit(e Event) {
	p.saying.Lock()
	defer p.saying.Unlock()
	e.Time = time.Now()
	p.Events(e)
}

// memoryNeeded is what blocks take here, in a group that sends everything and in one that repairs.
func (p *pusher) memoryNeeded() int {
	_, plan := p.groupPlan(alive(p.hosts))
	whole := member.MemoryNeeded(plan, p.content)
	finishing(&plan)
	return max(whole, member.MemoryNeeded(plan, p.content), member.MemoryNeeded(plan, p.manifest))
}

// How long agents have to hear that a push is over.
const (
	farewell = 3 * time.Second
	lastTry  = 500 * time.Millisecond // those that did not answer before
)

// close ends everything: at the agents too, which keep what they have.
func (p *pusher) close(why error) (err error) {
	p.board.close()
	if p.node != nil {
		p.abort(why)
	}
	if p.member != nil {
		err = errors.Join(err, p.member.Close())
	}
	if p.device != nil {
		err = errors.Join(err, p.device.Close())
	}
	if p.place != nil {
		err = errors.Join(err, p.place.Close())
	}
	if p.object != nil {
		err = errors.Join(err, p.object.close())
	}
	if p.source != nil {
		err = errors.Join(err, p.source.Close())
	}
	return err
}

// mayHear reports whether an agent can be told something that was lost for a reason: one that has answered can.
func mayHear(lost error) bool {
	var told *control.Trouble
	return lost == nil || errors.As(lost, &told)
}

// abort has the agents forget the push that have not finished it. Who does not hear of it finds out when the lease is over.
func (p *pusher) abort(why error) {
	reason := "the push is over"
	if why != nil {
		reason = why.Error()
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	open := those(p.hosts, func(h *host) bool { return h.isOpen && h.finished == nil && mayHear(p.board.of(h).lost) })
	each(ctx, open, len(open), func(ctx context.Context, h *host) error {
		patience := farewell
		if h.trouble != nil && h.trouble.Class == control.Unreachable {
			patience = lastTry
		}
		_, err := call[control.Abort, control.Empty](ctx, p.node, h, patience, control.MethodAbort, control.Abort{ID: p.id, Reason: reason})
		return err
	})
}
