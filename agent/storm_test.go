package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak"
	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/hosts"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/target"
	"github.com/weft-fabric/weft/push/way"
	"github.com/weft-fabric/weft/ripc/find"
)

// TestStorm pushes random trees to real agents while things go wrong, and once more while they do not. WEFT_STORM=FROM-TO has it take
// these seeds, WEFT_LONG=1 many of them.
func TestStorm(t *testing.T) {
	from, to := uint64(1), uint64(8)
	if os.Getenv("WEFT_LONG") != "" {
		to = 300
	}
	if text := os.Getenv("WEFT_STORM"); text != "" {
		first, last, _ := strings.Cut(text, "-")
		from, _ = strconv.ParseUint(first, 10, 64)
		if to, _ = strconv.ParseUint(last, 10, 64); to < from {
			to = from
		}
	}
	cluster := newStormCluster(t)
	for seed := from; seed <= to; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { randomStorm(t, cluster, seed).run() })
	}
}

// A connection that breaks while something is asked for that can be asked for again is no reason to give a host up.
func TestConnectionBreaks(t *testing.T) {
	cluster := newStormCluster(t)
	for _, point := range []string{"hello", "open", "after open", "have", "end", "finish", "after finish"} {
		t.Run(point, func(t *testing.T) {
			s := newStorm(t, cluster, 1)
			s.invite(2, true)
			s.hosts[1].faults.list = []fault{{point: point, nth: 1, act: actCut}}
			for _, v := range s.hosts {
				check(t, v.start())
			}
			if report, err := s.push(); report.Exit != push.ExitOK {
				s.fail("exit %d: %v %s", report.Exit, err, outcomes(report))
			}
		})
	}
}

// An agent that says something odd is given up, but not left with a push that keeps the next one away.
func TestGivenUpAndPushedAgain(t *testing.T) {
	s := newStorm(t, newStormCluster(t), 1)
	s.invite(2, false)
	s.hosts[1].faults.list = []fault{{point: "status", nth: 1, act: actFail, err: errNoPush}}
	for _, v := range s.hosts {
		check(t, v.start())
	}
	if report, err := s.push(); report.Exit != push.ExitPartial {
		s.fail("exit %d: %v %s", report.Exit, err, outcomes(report))
	}
	if report, err := s.push(); report.Exit != push.ExitOK {
		s.fail("exit %d: %v %s", report.Exit, err, outcomes(report))
	}
}

// mostHosts is how many agents take part at most.
const mostHosts = 6

// stormCluster has certificates for all storms.
type stormCluster struct {
	pusher *keys.Keyring
	agents []*keys.Keyring
}

func newStormCluster(t *testing.T) *stormCluster {
	c := newCluster(t)
	s := &stormCluster{}
	_, s.pusher = c.issue("ops", control.RolePusher)
	for i := range mostHosts {
		_, ring := c.issue(hostName(i), control.RoleAgent, control.Service(hostName(i)))
		s.agents = append(s.agents, ring)
	}
	return s
}

func hostName(i int) string { return fmt.Sprint("n", i+1) }

// storm is one push in which things go wrong.
type storm struct {
	t       *testing.T
	cluster *stormCluster
	seed    uint64
	random  *rand.Rand
	logged  *logBook
	hosts   []*victim
	want    tree
	config  push.Config
	cancel  context.CancelCauseFunc
	acts    sync.WaitGroup // faults that are done by goroutines of their own
	calm    bool           // no fault ends the push as a whole
	told    string         // what this storm is, for people
}

// victim is a host with an agent that has faults.
type victim struct {
	*storm
	name, root string
	ring       *keys.Keyring
	faults     *faults
	link       *link // nil: it is reached directly
	before     tree

	mu      sync.Mutex
	address string // where the agent listens; empty: it has not been
	place   *way.Place
	stop    context.CancelFunc
	ended   chan error // nil: no agent runs
	isOver  bool
}

// logBook is what was logged, for those who look for a fault.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func newStorm(t *testing.T, c *stormCluster, seed uint64) *storm {
	s := &storm{t: t, cluster: c, seed: seed, random: rand.New(rand.NewPCG(seed, 8)), logged: new(logBook), calm: true}
	r := s.random
	block := control.MinBlock + control.BlockUnit*r.IntN(8)*r.IntN(2)
	source := filepath.Join(t.TempDir(), "tree")
	s.want = growTree(t, r, source, block)
	algorithms := []string{"auto", "pipeline", "circulant", "chain", "tree", "sequential", "rack-chain", "rack-pipeline", "rack-stripes"}
	s.config = push.Config{
		Sources: []string{source}, Dest: "in", Keys: c.pusher, Reach: s, SpoolDir: t.TempDir(), Log: s.log("pusher"), Block: block,
		Algorithm: algorithms[r.IntN(len(algorithms))], Way: []string{"tcp", "tcp", "shm"}[r.IntN(3)], Plain: r.IntN(2) == 0, Force: r.IntN(2) == 0,
		OpenPlace: func(agents find.Resolver) (*way.Place, error) {
			return way.Open(way.Config{Keys: c.pusher, Resolver: agents, Log: s.log("pusher's place")})
		},
		Events: func(e push.Event) {
			if e.Kind != push.EventProgress && e.Kind != push.EventScan {
				s.log("event").Info(string(e.Kind), "host", e.Host, "phase", e.Phase, "class", e.Class, "text", e.Text)
			}
		},
	}
	if r.IntN(3) == 0 {
		s.config.CacheDir = t.TempDir()
	}
	t.Cleanup(s.clear)
	return s
}

// randomStorm is one whose faults come from its seed.
func randomStorm(t *testing.T, c *stormCluster, seed uint64) *storm {
	s := newStorm(t, c, seed)
	r := s.random
	if r.IntN(8) == 0 {
		s.config.Deadline, s.calm = time.Duration(r.IntN(1500))*time.Millisecond+1, false
	}
	s.invite(1+r.IntN(mostHosts), r.IntN(2) == 0)
	s.conspire()
	return s
}

func (s *storm) log(who string) *slog.Logger {
	return slog.New(slog.NewTextHandler(s.logged, &slog.HandlerOptions{Level: slog.LevelDebug})).With("who", who)
}

// invite makes the hosts.
func (s *storm) invite(n int, linked bool) {
	for i := range n {
		v := &victim{storm: s, name: hostName(i), root: s.t.TempDir(), ring: s.cluster.agents[i]}
		v.faults = &faults{reached: map[string]int{}, written: map[int]bool{}}
		v.faults.do = v.suffer
		if linked {
			v.link = newLink(s.t)
		}
		s.hosts = append(s.hosts, v)
		s.config.Hosts = append(s.config.Hosts, hosts.Host{Name: v.name})
		s.config.Racks = append(s.config.Racks, fmt.Sprint("r", s.random.IntN(2)))
	}
	s.told = fmt.Sprintf("%d hosts, links %v, block %d, %s, %s, plain %v, force %v, deadline %v, %d things", n, linked, s.config.Block, s.config.Algorithm,
		s.config.Way, s.config.Plain, s.config.Force, s.config.Deadline, len(s.want))
}

// conspire plans what goes wrong.
func (s *storm) conspire() {
	r := s.random
	for range [...]int{0, 1, 1, 1, 2, 2, 3}[r.IntN(7)] {
		v := s.hosts[r.IntN(len(s.hosts))]
		f := randomFault(r)
		v.faults.list = append(v.faults.list, f)
		s.calm = s.calm && f.act != actInterrupt
		s.told += fmt.Sprintf("\n\t%s: %v", v.name, f)
	}
	if r.IntN(8) == 0 {
		v := s.hosts[r.IntN(len(s.hosts))]
		v.faults.lies = true
		s.told += fmt.Sprintf("\n\t%s lies", v.name)
	}
	if r.IntN(8) == 0 {
		v := s.hosts[r.IntN(len(s.hosts))]
		v.faults.slow = time.Duration(r.IntN(30)) * time.Millisecond
		s.told += fmt.Sprintf("\n\t%s is slow: %v a block", v.name, v.faults.slow)
	}
}

// Reach finds the agents.
func (s *storm) Reach(_ context.Context, h hosts.Host) (address, service string, err error) {
	for _, v := range s.hosts {
		if v.name == h.Name {
			return v.reachedAt(), control.Service(v.name), nil
		}
	}
	return "", "", errors.New("nobody knows it")
}

func (v *victim) reachedAt() string {
	if v.link != nil {
		return v.link.address()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.address
}

// start starts the agent of a host, where it was before.
func (v *victim) start() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ended != nil || v.isOver {
		return nil
	}
	if v.address == "" {
		v.address = freeAddress(v.t)
	}
	config := way.Config{Listen: v.address, Keys: v.ring, Log: v.log(v.name)}
	if v.link != nil {
		config.Advertise = v.link.address()
		v.link.lead(v.address)
	}
	place, err := way.Open(config)
	if err != nil {
		return err
	}
	root, err := target.OpenRoot(v.root)
	if err != nil {
		return errors.Join(err, place.Close())
	}
	ready := make(chan struct{})
	a, err := newAgent(Config{Place: place, Keys: v.ring, Name: v.name, Root: v.root, PlainAllowed: true, Log: v.log(v.name), Ready: func() { close(ready) }}, badDisk{onDisk{root}, v.faults})
	if err != nil {
		return errors.Join(err, root.Close(), place.Close())
	}
	a.enlist, a.ways = v.enlistWith(enlistAt(place, a.log)), place.Ways()
	troubled.Store(a, v.faults)
	ctx, stop := context.WithCancel(context.Background())
	v.place, v.stop, v.ended = place, stop, make(chan error, 1)
	go func() { v.ended <- errors.Join(a.run(ctx), root.Close()) }()
	<-ready
	return nil
}

// freeAddress is one where nobody listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	check(t, listener.Close())
	return listener.Addr().String()
}

// enlistWith makes crews with faults.
func (v *victim) enlistWith(enlist func(manifest.ID, wish) (crew, error)) func(manifest.ID, wish) (crew, error) {
	return func(id manifest.ID, w wish) (crew, error) {
		if err := v.faults.at("enlist"); err != nil {
			return nil, err
		}
		c, err := enlist(id, w)
		if err != nil {
			return nil, err
		}
		return badCrew{c, v.faults}, nil
	}
}

// halt ends the agent: well, or as if its process were gone.
func (v *victim) halt(well bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ended == nil {
		return
	}
	if well {
		v.stop()
		<-v.ended
	}
	if err := v.place.Close(); err != nil {
		v.t.Errorf("%s: %v", v.name, err)
	}
	if !well {
		v.stop()
		<-v.ended
	}
	v.ended = nil
}

// suffer is what happens to a host.
func (v *victim) suffer(f fault) {
	v.log(v.name).Info("it happens", "fault", f.String())
	v.acts.Go(func() {
		switch f.act {
		case actKill:
			v.halt(false)
		case actStop:
			v.halt(true)
		case actRestart:
			v.halt(false)
			_ = pause.For(context.Background(), f.long)
			if err := v.start(); err != nil {
				v.t.Errorf("%s: %v", v.name, err)
			}
		case actInterrupt:
			v.cancel(push.ErrInterrupted)
		default:
			v.disturb(f)
		}
	})
	_ = pause.For(context.Background(), 5*time.Millisecond)
}

func (v *victim) disturb(f fault) {
	if v.link == nil {
		return
	}
	if f.act == actFreeze {
		v.link.freeze(f.long)
	} else {
		v.link.cut(f.long)
	}
}

// run is the whole of it.
func (s *storm) run() {
	s.t.Log(s.told)
	for _, v := range s.hosts {
		check(s.t, v.start())
	}
	began := time.Now()
	report, err := s.push()
	s.t.Logf("exit %d after %v, %d repairs: %v %s", report.Exit, time.Since(began).Round(time.Millisecond), report.Repairs, err, outcomes(report))
	s.acts.Wait()
	s.judge(report, err)
	held := s.recovered()
	began = time.Now()
	report, err = s.push()
	s.t.Logf("again: exit %d after %v: %v", report.Exit, time.Since(began).Round(time.Millisecond), err)
	if report.Exit != push.ExitOK {
		s.fail("the second push ended with %d: %v %s", report.Exit, err, outcomes(report))
	}
	s.judge(report, err)
	for _, v := range s.hosts {
		v.checkWritten(held[v])
		v.checkTidy()
	}
	s.clear()
	s.checkLeaks()
}

func outcomes(r *push.Report) string {
	var list []string
	for _, h := range r.Hosts {
		list = append(list, fmt.Sprintf("%s %s %s %q", h.Host, h.Outcome, h.Class, h.Text))
	}
	return strings.Join(list, "; ")
}

// fail tells of a fault, with all that was logged.
func (s *storm) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("FAULT: "+format, args...)
	if file := os.Getenv("WEFT_STORM_LOG"); file != "" {
		check(s.t, os.WriteFile(fmt.Sprintf("%s.%d", file, s.seed), []byte(s.told+"\n"+s.logged.String()), 0o600))
	}
}

// watchdog is after how long a push is one that hangs.
const watchdog = 4 * time.Minute

func (s *storm) push() (*push.Report, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	s.cancel = cancel
	bark := time.AfterFunc(watchdog, func() {
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)
		panic(fmt.Sprintf("seed %d hangs: %s\n%s", s.seed, s.told, s.logged))
	})
	defer bark.Stop()
	report, err := push.Run(ctx, s.config)
	if report == nil {
		s.t.Fatal(err)
	}
	return report, err
}

// judge compares what is told with what is.
func (s *storm) judge(r *push.Report, err error) {
	s.t.Helper()
	verified := 0
	for i, h := range r.Hosts {
		v := s.hosts[i]
		have := readTree(s.t, filepath.Join(v.root, "in/tree"))
		if wrong := have.wrong(s.want, v.before); len(wrong) > 0 {
			s.fail("%s has what is wrong: %s", v.name, strings.Join(wrong, "\n"))
		}
		if h.Outcome == push.OutcomeVerified {
			verified++
			if list := have.differences(s.want); len(list) > 0 {
				s.fail("%s is told to be verified: %s", v.name, strings.Join(list, "\n"))
			}
		} else if s.calm && v.isInnocent() {
			s.fail("%s has done nothing wrong: %s %s", v.name, h.Class, h.Text)
		}
	}
	if s.calm && err != nil {
		s.fail("the push as a whole has failed: %v", err)
	}
	s.judgeExit(r, verified, err)
}

func (s *storm) judgeExit(r *push.Report, verified int, err error) {
	s.t.Helper()
	var fits bool
	switch {
	case err == nil && verified == len(s.hosts):
		fits = r.Exit == push.ExitOK
	case r.Exit == push.ExitInterrupted:
		fits = errors.Is(err, push.ErrInterrupted)
	case r.Exit == push.ExitLate:
		fits = errors.Is(err, push.ErrDeadline)
	case verified > 0:
		fits = r.Exit == push.ExitPartial
	default:
		fits = r.Exit != push.ExitOK && r.Exit != push.ExitPartial
	}
	if !fits {
		s.fail("exit code %d does not fit %v and %s", r.Exit, err, outcomes(r))
	}
}

// isInnocent reports whether what happened to a host is no reason to give it up.
func (v *victim) isInnocent() bool {
	if v.faults.lies {
		return false
	}
	return !slices.ContainsFunc(v.faults.list, fault.blames)
}

// recovered ends what goes wrong, starts agents that are gone, and says which blocks each host has.
func (s *storm) recovered() map[*victim]map[int]bool {
	held := make(map[*victim]map[int]bool)
	for _, v := range s.hosts {
		v.faults.end()
		v.faults.slow = 0
		if v.link != nil {
			v.link.cut(0)
		}
		check(s.t, v.start())
		held[v] = v.held()
	}
	s.calm, s.config.Deadline = true, 0
	return held
}

// held are the blocks that a host has on disk: all of them, if everything is in place.
func (v *victim) held() map[int]bool {
	all := map[int]bool{}
	files, _ := filepath.Glob(filepath.Join(v.root, ".weft/partial/*/map"))
	for _, name := range files {
		octets, err := os.ReadFile(name)
		check(v.t, err)
		for block := range 8 * len(octets) {
			if octets[block/8]&(1<<(block%8)) != 0 {
				all[block] = true
			}
		}
	}
	if len(files) == 0 && len(readTree(v.t, filepath.Join(v.root, "in/tree")).differences(v.want)) == 0 {
		for block := range 1 << 12 {
			all[block] = true
		}
	}
	return all
}

// checkWritten says which blocks have come that were there.
func (v *victim) checkWritten(held map[int]bool) {
	v.faults.mu.Lock()
	defer v.faults.mu.Unlock()
	for _, block := range slices.Sorted(maps.Keys(v.faults.written)) {
		if held[block] && v.want.content() > 0 { // there is one block even of nothing
			v.fail("%s was sent block %d, which it held", v.name, block)
		}
	}
}

// checkTidy says what is left of pushes.
func (v *victim) checkTidy() {
	if left, _ := filepath.Glob(filepath.Join(v.root, ".weft/partial/*")); len(left) > 0 {
		v.fail("%s has left over %v", v.name, left)
	}
}

// clear ends everything.
func (s *storm) clear() {
	s.acts.Wait()
	for _, v := range s.hosts {
		v.halt(true)
		v.mu.Lock()
		v.isOver = true
		v.mu.Unlock()
		if v.link != nil {
			v.link.close()
		}
	}
	troubled.Clear()
}

func (s *storm) checkLeaks() {
	if err := leak.Check(); err != nil {
		s.fail("%v", err)
	}
}
