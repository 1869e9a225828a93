package soft

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"github.com/weft-fabric/weft/verbs/driver"
)

// The first use of a memory that is lent asks for it; after that, a loan costs no question.
func TestLoansAskNobody(t *testing.T) {
	l := newLending(t, SharedMemory)
	l.use(l.qa, driver.OpWrite, l.lend(0, 64, driver.RemoteWrite), driver.OK)
	for round := range 10 {
		l.takeBack()
		lent := l.lend(64*round, 64, driver.RemoteAll)
		post(t, l.qa, driver.Request{Tag: 9, Op: driver.OpRead, Span: span(l.mema, 0, 64), Remote: lent})
		if l.a.poll(); len(l.a.kept) != 1 {
			t.Fatal("the Read has to wait")
		}
		l.a.expect(9, driver.OpRead, driver.OK)
	}
}

// A borrower that stands still is put out: the Revoke completes, and what the borrower writes later is not seen.
func TestStandingBorrowerIsEvicted(t *testing.T) {
	needFreeze(t)
	for name, end := range map[string]func(l *lending){
		"revoke": (*lending).takeBack,
		"close":  func(l *lending) { ok(l.b.t, l.w.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLending(t, SharedMemory)
			lent := l.lend(8192, 5000, driver.RemoteWrite)
			l.use(l.qa, driver.OpWrite, lent, driver.OK)
			me := &l.qa.requester
			v := visit{q: l.qa, peer: me.peer, total: 5000}
			v.request = &driver.Request{Op: driver.OpWrite, Span: span(l.mema, 0, 5000), Remote: lent}
			if v.aim(lent.Key); v.prepare() != arrived {
				t.Fatal("it is not mapped")
			}
			old := v.target.bytes[8192:][:5000]
			v.mark = me.peer.gate.enter(me.left)
			if !v.reachable(driver.RemoteWrite) {
				t.Fatal("it is not let in")
			}
			end(l)
			for i := range old {
				old[i] = 0xee
			}
			for i, b := range l.m.Region().Bytes {
				if b == 0xee {
					t.Fatalf("byte %d has changed", i)
				}
			}
			if me.peer.gate.leave(v.mark) {
				t.Error("who was evicted has left as if nothing had happened")
			}
			me.left = v.mark + 1
			l.use(l.qa, driver.OpWrite, lent, driver.Flushed)
		})
	}
}

// What a neighbour shows as lent is checked: whatever stands there, a request is refused and nothing worse.
func TestHostileLoans(t *testing.T) {
	h := newHostWith(t, Config{Lanes: SharedMemory})
	m := h.memory(1<<20, 0)
	s := newStranger(t)
	s.greet(h.device)
	const size, key = 64 << 10, 4711
	lent := lentKey(1<<40, 0)
	file := s.file(size, true)
	defer closeDescriptor(file)
	for name, c := range map[string]struct {
		spoil func(e *end, n *loan)
		want  driver.Status
	}{
		"good":             {func(*end, *loan) {}, driver.OK},
		"nowhere":          {func(e *end, _ *loan) { e.lent[0].Store(arenaSize - 8) }, driver.RemoteAccess},
		"odd":              {func(e *end, _ *loan) { e.lent[0].Add(1) }, driver.RemoteAccess},
		"far out":          {func(e *end, _ *loan) { e.lent[0].Store(^uint64(0) - 7) }, driver.RemoteAccess},
		"nothing":          {func(e *end, _ *loan) { e.lent[0].Store(0) }, driver.RemoteAccess},
		"beyond its bytes": {func(_ *end, n *loan) { n.address.Add(8) }, driver.RemoteAccess},
		"another memory":   {func(_ *end, n *loan) { n.memory.Add(1 << serialBits) }, driver.RemoteAccess},
		"endless, elsewhere": {func(_ *end, n *loan) {
			n.address.Store(0)
			n.terms.Store(^uint64(0))
		}, driver.OK}, // its own memory is the bound
	} {
		t.Run(name, func(t *testing.T) {
			q := s.connect(h)
			e := q.requester.peer.end
			words, err := s.arena.take(firstLoans * uint64(unsafe.Sizeof(loan{})))
			ok(t, err)
			e.lent[0].Store(uint64(words))
			n := (*loan)(unsafe.Pointer(&s.arena.bytes[words]))
			shown := s.region(key, size)
			n.memory.Store(shown.Region.Serial | uint64(shown.Region.LocalKey))
			n.address.Store(1 << 30)
			n.terms.Store(size<<8 | uint64(driver.RemoteAll))
			n.key.Store(lent)
			c.spoil(e, n)
			s.say(shown, []extent{{0, size, 0}}, file)
			s.alive(h.device)
			post(t, q, driver.Request{Tag: 1, Op: driver.OpWrite, Span: span(m, 0, size),
				Remote: driver.RemoteSpan{Address: 1 << 30, Length: size, Key: lent}})
			h.expect(1, driver.OpWrite, c.want)
			if c.want == driver.OK {
				post(t, q, driver.Request{Tag: 2, Op: driver.OpWrite, Span: span(m, 0, size),
					Remote: driver.RemoteSpan{Address: 1<<30 + 1, Length: size, Key: lent}})
				h.expect(2, driver.OpWrite, driver.RemoteAccess)
			}
			ok(t, q.Close())
		})
	}
}

// lenderVariable is set, to the lanes that it shall take, in the environment of a process that lends instead of running tests.
const lenderVariable = "WEFT_LENDER"

// Two processes: one lends, the other uses it, until it is taken back.
func TestLendingBetweenProcesses(t *testing.T) {
	for _, lanes := range []Lanes{SharedMemory, TCP} {
		t.Run(lanes.String(), func(t *testing.T) {
			p := startLender(t, lanes)
			h := newHostWith(t, Config{Lanes: lanes, PeerTimeout: tolerance})
			m, q := h.memory(4096, 0), h.pair()
			ok(t, q.Connect(connectTag, driver.Address(p.hear())))
			p.say(string(q.Address()))
			h.expect(connectTag, driver.OpConnect, driver.OK)
			var lent driver.RemoteSpan
			for round := range 5 {
				_, err := fmt.Sscan(p.hear(), &lent.Address, &lent.Length, &lent.Key)
				ok(t, err)
				post(t, q, driver.Request{Tag: 1, Op: driver.OpRead, Span: span(m, 0, 64), Remote: lent})
				h.expect(1, driver.OpRead, driver.OK)
				if got := m.Region().Bytes[0]; got != byte(round) {
					t.Fatalf("read %d in round %d", got, round)
				}
				p.say("done")
			}
			p.hear() // all is taken back
			post(t, q, driver.Request{Tag: 2, Op: driver.OpRead, Span: span(m, 0, 64), Remote: lent})
			h.expect(2, driver.OpRead, driver.RemoteAccess)
		})
	}
}

// startLender starts a process that lends.
func startLender(t *testing.T, lanes Lanes) *neighbourProcess {
	t.Helper()
	p := &neighbourProcess{t: t, cmd: exec.Command("/proc/self/exe", "-test.run=^TestLenderProcess$")}
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", lenderVariable, lanes))
	p.start()
	return p
}

// TestLenderProcess is the body of such a process. It waits in its completion queue for nothing: the peer reads all the same.
func TestLenderProcess(t *testing.T) {
	var lanes Lanes
	if _, err := fmt.Sscan(os.Getenv(lenderVariable), &lanes); err != nil {
		t.Skip("only in a process that another test starts")
	}
	h := newHostWith(t, Config{Lanes: lanes, PeerTimeout: tolerance})
	m, q := h.memory(4096, 0), h.pair()
	w := h.window(q)
	in := bufio.NewReader(os.Stdin)
	hear := func() string {
		line, err := in.ReadString('\n')
		ok(t, err)
		return strings.TrimSpace(line)
	}
	fmt.Fprintln(os.Stdout, q.Address())
	ok(t, q.Connect(connectTag, driver.Address(hear())))
	h.expect(connectTag, driver.OpConnect, driver.OK)
	for round := range 5 {
		m.Region().Bytes[100*round] = byte(round)
		r, lent := bind(1, w, span(m, 100*round, 64), driver.RemoteRead)
		post(t, q, r)
		h.expect(1, driver.OpBind, driver.OK)
		fmt.Fprintln(os.Stdout, lent.Address, lent.Length, lent.Key)
		hear()
		post(t, q, revoke(2, w))
		h.expect(2, driver.OpRevoke, driver.OK)
	}
	fmt.Fprintln(os.Stdout, "all is taken back")
	_, _ = in.ReadString('\n')
}
