package verbstest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs"
)

// This file is what tests speak with: ends and memories, where whatever goes wrong ends the test.

// T is a test that is running: it opens ends and gives up at the first thing that goes wrong.
type T struct {
	TB
	lab     Lab
	can     Capabilities
	tags    uint64     // the last tag that was given to a control
	pending []*pending // commands that were begun
}

// finish closes what the test has opened. What cannot be closed is a failure too.
func (t *T) finish() {
	t.Helper()
	if err := t.lab.Close(); err != nil {
		t.Errorf("close the lab: %v", err)
	}
	for _, p := range t.pending {
		<-p.done
	}
}

// node is an end, as tests speak to it.
type node struct {
	t      *T
	end    End
	name   string
	limits verbs.Limits
}

func (t *T) open(name string) *node { return t.openWith(name, EndConfig{}) }

func (t *T) openWith(name string, config EndConfig) *node {
	t.Helper()
	e, err := t.lab.Open(name, config)
	if err != nil {
		t.Fatalf("open %s: %v", name, err)
	}
	n := &node{t: t, end: e, name: name}
	n.limits = n.do(Inspect{}).Limits
	return n
}

// do carries out a command that must succeed.
func (n *node) do(c Command) Result {
	n.t.Helper()
	r, err := n.end.Do(c)
	if err != nil {
		n.t.Fatalf("%s: %T: %v%s", n.name, c, err, n.explain(err))
	}
	return r
}

// refuses carries out a command that must fail with want.
func (n *node) refuses(c Command, want error) Result {
	n.t.Helper()
	r, err := n.end.Do(c)
	if !errors.Is(err, want) {
		n.t.Fatalf("%s: %T gave %v, want an error that is %q", n.name, c, err, want)
	}
	return r
}

// explain adds to a hang what the end looks like.
func (n *node) explain(err error) string {
	if !errors.Is(err, ErrHang) {
		return ""
	}
	r, _ := n.end.Do(Describe{})
	return "\n" + strings.Join(r.Text, "\n")
}

func (n *node) until(c Condition) {
	n.t.Helper()
	n.do(Until{Condition: c})
}

func (n *node) signal(s Signal) {
	n.t.Helper()
	if err := n.end.Signal(s); err != nil {
		n.t.Fatalf("%s: %v: %v", n.name, s, err)
	}
}

// now is the time at the end.
func (n *node) now() clock.Time {
	n.t.Helper()
	return n.do(Now{}).Now
}

// take waits for completions of a class and takes them.
func (n *node) take(queue uint32, class Class, count int) []verbs.Completion {
	n.t.Helper()
	return n.do(Until{Ended{Queue: queue, Class: class, N: count}, Take{Queue: queue, Class: class, N: count}}).Completions
}

// takeAny is take for all queue pairs of the end together.
func (n *node) takeAny(class Class, count int) []verbs.Completion {
	n.t.Helper()
	return n.do(Until{Ended{AnyQueue: true, Class: class, N: count}, Take{AnyQueue: true, Class: class, N: count}}).Completions
}

// mem is a memory at an end. Its spans are plain numbers: a test may forge them.
type mem struct {
	node   *node
	id     int
	region region
}

func (n *node) memory(size int, access verbs.Access) *mem {
	n.t.Helper()
	return n.memoryIn(0, size, access)
}

func (n *node) memoryIn(domain, size int, access verbs.Access) *mem {
	n.t.Helper()
	r := n.do(OpenMemory{Domain: domain, Size: size, Access: access})
	return &mem{node: n, id: r.ID, region: r.Region}
}

func (m *mem) span(offset, size int) verbs.Span {
	return verbs.Span{Address: m.region.Address + uint64(offset), Length: uint32(size), Key: m.region.LocalKey}
}

func (m *mem) remote(offset, size int) verbs.RemoteSpan {
	return verbs.RemoteSpan{Address: m.region.Address + uint64(offset), Length: uint64(size), Key: m.region.RemoteKey}
}

// renew asks for the remote key again, which a change of access may have changed.
func (m *mem) renew() {
	m.node.t.Helper()
	m.region = m.node.do(Load{Memory: m.id, N: 8}).Region
}

func (m *mem) put(offset int, b []byte) {
	m.node.t.Helper()
	m.node.do(Store{m.id, offset, b})
}

func (m *mem) get(offset, size int) []byte {
	m.node.t.Helper()
	return m.node.do(Load{m.id, offset, size}).Bytes
}

func (m *mem) word(offset int) uint64 {
	m.node.t.Helper()
	return m.node.do(Load{m.id, offset, 8}).Word
}

func (m *mem) fill(offset, size int, seed uint64) {
	m.node.t.Helper()
	m.node.do(Fill{m.id, offset, size, seed})
}

func (m *mem) checksum(offset, size int) uint64 {
	m.node.t.Helper()
	return m.node.do(Checksum{m.id, offset, size}).Word
}

func (m *mem) close() {
	m.node.t.Helper()
	m.node.do(Close{Kind: aMemory, ID: m.id})
}

// must fails the test unless a status is the one that the contract says.
func (t *T) must(got, want verbs.Status, format string, args ...any) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: ended %v, want %v", fmt.Sprintf(format, args...), got, want)
	}
}

// statuses fails the test unless the completions ended as listed.
func (t *T) statuses(what string, got []verbs.Completion, want ...verbs.Status) {
	t.Helper()
	for i := range want {
		if i >= len(got) || got[i].Status != want[i] {
			t.Fatalf("%s: ended as %+v, want %v", what, got, want)
		}
	}
}
