package hook

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// told is what a program sees of each lie: a scenario, its outcome on an honest device, and on one that lies.
var told = []struct {
	lie    Lie
	scene  func(r *rig) string
	honest string
	lied   string
}{
	{DropCompletion, write, "1 Write OK 8", ""},
	{DoubleCompletion, write, "1 Write OK 8", "1 Write OK 8, 1 Write OK 8"},
	{SwapCompletions, twoWrites, "1 Write OK 8, 2 Write OK 8", "2 Write OK 8, 1 Write OK 8"},
	{HideFailure, refused, "1 Write RemoteAccess 0, 2 Write Flushed 0", "1 Write OK 8, 2 Write OK 8"},
	{WrongTag, write, "1 Write OK 8", "0 Write OK 8"},
	{WrongBytes, write, "1 Write OK 8", "1 Write OK 9"},
	{WrongImm, sendImm, "imm 70", "imm 71"},
	{WrongOp, write, "1 Write OK 8", "1 Send OK 8"},
	{WrongQueue, func(r *rig) string { write(r); return fmt.Sprint(r.last().Queue) }, "1", "0"},
	{DropQuietFailure, quietRefused, "1 Write RemoteAccess 0, 2 Write Flushed 0", "2 Write Flushed 0"},
	{DropFlushed, refused, "1 Write RemoteAccess 0, 2 Write Flushed 0", "1 Write RemoteAccess 0"},
	{ResetWithoutFlush, reset, "4 Receive Flushed 0, 5 Reset OK 0", "5 Reset OK 0"},
	{DropUnreceived, unreceived, "1 Send ReceiverNotReady 0", "1 Send OK 8"},
	{IgnorePeerDeath, peerDeath, "1 reported, state Error", "0 reported, state Ready"},

	{CorruptPayload, corrupted, "Write 0, Read 0, Send 0, source 0", "Write 1, Read 1, Send 1, source 0"},
	{DropWrite, landed, "1 Write OK 8, first byte 1", "1 Write OK 8, first byte 0"},
	{IgnoreQuiet, quiet, "", "1 Write OK 8"},
	{IgnoreFence, fenced, "1 Read OK 8, 2 Write OK 8, there 5", "1 Read OK 8, 2 Write OK 8, there 7"},
	{IgnoreAfter, chained, "", "1 Write OK 8"},
	{LateInline, inline, "1 Write OK 8, first byte 1", "1 Write OK 8, first byte 99"},
	{UnconditionalSwap, swap, "1 CompareSwap OK 8, 2 Read OK 8, there 5", "1 CompareSwap OK 8, 2 Read OK 8, there 9"},
	{FetchAddNew, add, "1 FetchAdd OK 8, returned 5, there 12", "1 FetchAdd OK 8, returned 12, there 12"},
	{ReverseReceives, order, "3 Receive OK 8", "4 Receive OK 8"},
	{Overtake, overtaken, "1 Write OK 8, 2 Write OK 8, there 2", "1 Write OK 8, 2 Write OK 8, there 1"},
	{TearWrites, torn, "whole true, 1 Write OK 8, whole true", "whole false, 1 Write OK 8, whole true"},

	{IgnoreQueueAccess, queueAccess, "6 QueueAccess OK 0, 1 Write RemoteInvalid 0", "6 QueueAccess OK 0, 1 Write OK 8"},
	{IgnoreMemoryAccess, memoryAccessChange, "6 MemoryAccess OK 0, 1 Write RemoteAccess 0",
		"6 MemoryAccess OK 0, 1 Write OK 8"},
	{EarlyAccess, earlyAccess, "6 QueueAccess OK 0, 1 Write RemoteInvalid 0, later 1 Write Flushed 0",
		"6 QueueAccess OK 0, 1 Write OK 8, later 1 Write RemoteInvalid 0"},
	{WidenQueueAccess, queueAccess, "6 QueueAccess OK 0, 1 Write RemoteInvalid 0", "6 QueueAccess OK 0, 1 Write OK 8"},
	{WidenMemoryAccess, private, "1 Read RemoteAccess 0", "1 Read OK 8"},
	{KeepMemory, closedMemory, "1 Write RemoteAccess 0, left 1", "1 Write OK 8, left 2, then 1"},
	{GenerousStart, beforeMemory, "1 Write RemoteAccess 0", "1 Write OK 8"},
	{GenerousEnd, behindMemory, "1 Write RemoteAccess 0", "1 Write OK 8"},
	{GuessableKeys, keys, "false", "true"},
	{OneDomain, otherDomain, "1 Write RemoteAccess 0", "1 Write OK 8"},

	{IgnoreRevoke, revoked, "1 Bind OK 0, 2 Revoke OK 0, 3 Write RemoteAccess 0", "1 Bind OK 0, 2 Revoke OK 0, 3 Write OK 8"},
	{EarlyRevoke, revokedEarly, "1 Bind OK 0, 2 Revoke OK 0, 3 Write RemoteAccess 0, later 3 Write Flushed 0",
		"1 Bind OK 0, 2 Revoke OK 0, 3 Write OK 8, later 3 Write RemoteAccess 0"},
	{WidenWindow, readable, "1 Bind OK 0, 3 Write RemoteAccess 0", "1 Bind OK 0, 3 Write OK 8"},
	{GenerousWindow, beforeWindow, "1 Bind OK 0, 3 Write RemoteAccess 0", "1 Bind OK 0, 3 Write OK 8"},
	{KeepWindow, closedWindow, "1 Bind OK 0, 3 Write RemoteAccess 0", "1 Bind OK 0, 3 Write OK 8"},

	{KeepAddress, address, "false", "true"},
	{ForgetAccess, accessAfterReset, "1 Write RemoteInvalid 0", "1 Write OK 8"},

	{LateWait, wait, "0", "50"},
	{RestlessWait, nap, "10", "0"},
	{LostWake, wake, "1", "0"},

	{NoPeerTimeout, peerTimeout, "true", "false"},
}

func TestLies(t *testing.T) {
	if len(told) != len(Lies()) {
		t.Errorf("%d lies are tested, there are %d", len(told), len(Lies()))
	}
	for i, c := range told {
		t.Run(c.lie.String(), func(t *testing.T) {
			if c.lie != Lies()[i] {
				t.Errorf("lie %d is %v", i, Lies()[i])
			}
			if got := c.scene(faulty(t)); got != c.honest {
				t.Errorf("an honest device: %q, want %q", got, c.honest)
			}
			if got := c.scene(lying(t, c.lie)); got != c.lied {
				t.Errorf("one that lies: %q, want %q", got, c.lied)
			}
		})
	}
}

// TestLieOnce: a lie that is told at the second event leaves the first and the third alone.
func TestLieOnce(t *testing.T) {
	r := faulty(t, Rule{Lie: WrongTag, Nth: 2})
	r.post(r.a, r.request(10, driver.OpWrite, 0), r.request(20, driver.OpWrite, 0), r.request(30, driver.OpWrite, 0))
	r.expect(end{10, driver.OpWrite, 0}, end{21, driver.OpWrite, 0}, end{30, driver.OpWrite, 0})
}

// TestLieAboutConnect: control operations are lied about only by name.
func TestLieAboutConnect(t *testing.T) {
	r := faulty(t, Rule{Lie: DropCompletion, Op: driver.OpConnect, Nth: 3})
	r.connect(r.a, r.b)
	r.connect(r.a, r.b)
	r.expect(end{900, driver.OpConnect, 0})
}

// TestQuietLies: a lie that needs a Quiet request's completion does not show it.
func TestQuietLies(t *testing.T) {
	for lie, op := range map[Lie]driver.Op{CorruptPayload: driver.OpWrite, UnconditionalSwap: driver.OpCompareSwap,
		FetchAddNew: driver.OpFetchAdd} {
		r := lying(t, lie)
		setWord(r.theirs, 5)
		r.post(r.a, r.request(1, op, driver.Quiet))
		r.expect()
		r.expect()
	}
}

// TestQuietFence: completions that changed places come back in the program's order, and only if they are wanted.
func TestQuietFence(t *testing.T) {
	read, write := end{1, driver.OpRead, 0}, end{2, driver.OpWrite, 0}
	for _, c := range []struct {
		read, write driver.Flags
		want        []end
	}{
		{0, 0, []end{read, write}}, {driver.Quiet, 0, []end{write}}, {0, driver.Quiet, []end{read}},
		{driver.Quiet, driver.Quiet, nil},
	} {
		r := lying(t, IgnoreFence)
		r.post(r.a, r.request(1, driver.OpRead, c.read), r.request(2, driver.OpWrite, c.write|driver.Fence))
		r.expect(c.want...)
	}
}

// TestTwoFences: only one request overtakes a Read, so that the completions can be put in order again.
func TestTwoFences(t *testing.T) {
	r := lying(t, IgnoreFence)
	r.post(r.a, r.request(1, driver.OpRead, 0), r.request(2, driver.OpWrite, driver.Fence),
		r.request(3, driver.OpWrite, driver.Fence))
	r.expect(end{1, driver.OpRead, 0}, end{2, driver.OpWrite, 0}, end{3, driver.OpWrite, 0})
}

// TestLateInlineKeepsOrder: what is posted behind a late request is late too.
func TestLateInlineKeepsOrder(t *testing.T) {
	r := lying(t, LateInline)
	r.post(r.a, r.request(1, driver.OpWrite, driver.Inline))
	r.post(r.a, r.request(2, driver.OpWrite, 0))
	r.expect(end{1, driver.OpWrite, 0}, end{2, driver.OpWrite, 0})
}

// TestSwapTakesTwoTurns: while a CompareSwap is repeated, it and what is behind it is not reported.
func TestSwapTakesTwoTurns(t *testing.T) {
	r := lying(t, UnconditionalSwap)
	setWord(r.theirs, 5)
	r.post(r.a, r.request(1, driver.OpCompareSwap, 0), r.request(2, driver.OpWrite, 0))
	r.expect()
	r.expect(end{1, driver.OpCompareSwap, 0}, end{2, driver.OpWrite, 0})
}

// TestNothingToSwapWith: a completion that no other follows is not kept back.
func TestNothingToSwapWith(t *testing.T) {
	r := lying(t, SwapCompletions)
	r.post(r.a, r.request(1, driver.OpWrite, 0), r.request(2, driver.OpWrite, driver.Quiet))
	r.expect(end{1, driver.OpWrite, 0})
}

// TestHiddenQuietFailure: the success that is reported instead is quiet.
func TestHiddenQuietFailure(t *testing.T) {
	if got, want := quietRefused(lying(t, HideFailure)), "2 Write OK 8"; got != want {
		t.Errorf("reported %q, want %q", got, want)
	}
}

// TestFlushAfterReset: a queue pair that has been reset is like new.
func TestFlushAfterReset(t *testing.T) {
	r := lying(t, ResetWithoutFlush)
	if err := r.a.Reset(5); err != nil {
		t.Fatal(err)
	}
	r.expect(end{5, driver.OpReset, 0})
	r.connect(r.a, r.b)
	r.poll()
	if got, want := refused(r), "1 Write RemoteAccess 0, 2 Write Flushed 0"; got != want {
		t.Errorf("reported %q, want %q", got, want)
	}
}

// TestCorruptionEndsWithThePair: a request that never completes leaves its source as it was.
func TestCorruptionEndsWithThePair(t *testing.T) {
	r := lying(t, CorruptPayload)
	before := word(r.mine)
	q := r.request(1, driver.OpWrite, 0)
	q.After = driver.Arrival{Queue: r.b.Number(), Count: 1}
	r.post(r.a, q)
	if word(r.mine) == before {
		t.Error("the source was not corrupted")
	}
	closeAll(t, r.a)
	if word(r.mine) != before {
		t.Error("the source was not repaired")
	}
}

// TestInventedCompletionWakes: nothing inside announces it, so the wrapper must.
func TestInventedCompletionWakes(t *testing.T) {
	r := lying(t, IgnoreQueueAccess)
	if err := r.a.SetAccess(1, 0); err != nil {
		t.Fatal(err)
	}
	if got := r.fake.pairs[r.a.Number()].queue.wakes.Load(); got != 1 {
		t.Errorf("woke %d times", got)
	}
}

// TestClosedPairIsNotReported: the tags inside mean nothing to the program.
func TestClosedPairIsNotReported(t *testing.T) {
	r := faulty(t)
	r.post(r.a, r.request(1, driver.OpWrite, 0))
	closeAll(t, r.a)
	r.expect()
}

// TestBytesByKey: addresses need not be unique among memories, with their key they are.
func TestBytesByKey(t *testing.T) {
	r := faulty(t)
	for _, m := range r.fake.memories {
		m.region.Address = 4096
	}
	for _, m := range []driver.Memory{r.mine, r.theirs} {
		b := r.faults().bytes(span(m, 8, 4))
		if len(b) != 4 || &b[0] != &m.Region().Bytes[8] {
			t.Errorf("found %d bytes in the wrong memory", len(b))
		}
	}
	if b := r.faults().bytes(span(r.mine, rigBytes-1, 2)); b != nil {
		t.Errorf("found %d bytes beyond the end", len(b))
	}
	closeAll(t, r.mine)
	if b := r.faults().bytes(span(r.mine, 8, 4)); b != nil {
		t.Errorf("found %d bytes in closed memory", len(b))
	}
}

// TestMemoryAccessTooEarly is EarlyAccess for memory, whose completion names no queue pair.
func TestMemoryAccessTooEarly(t *testing.T) {
	r := lying(t, EarlyAccess)
	if got, want := memoryAccessChange(r), "6 MemoryAccess OK 0, 1 Write OK 8"; got != want {
		t.Errorf("at once: %s, want %s", got, want)
	}
	for range earlyPolls + 1 {
		r.expect()
	}
	if got, want := write(r), "1 Write RemoteAccess 0"; got != want {
		t.Errorf("later: %s, want %s", got, want)
	}
}

func TestNamesOfLies(t *testing.T) {
	seen := map[string]bool{}
	for _, lie := range Lies() {
		if name := lie.String(); seen[name] || name == "" || strings.Contains(name, "(") {
			t.Errorf("lie %d is called %q", lie, name)
		}
		seen[lie.String()] = true
	}
	if got := Lie(200).String(); got != "Lie(200)" {
		t.Errorf("an unknown lie is called %q", got)
	}
}

// ends polls once and writes down what it found.
func (r *rig) ends() string {
	var list []string
	for _, c := range r.poll() {
		list = append(list, fmt.Sprint(c.Tag, " ", c.Op, " ", c.Status, " ", c.Bytes))
	}
	return strings.Join(list, ", ")
}

// eventually is ends after a second Poll if the first found nothing: what a lie does in a Poll takes effect after it.
func (r *rig) eventually() string {
	if ends := r.ends(); ends != "" {
		return ends
	}
	return r.ends()
}
