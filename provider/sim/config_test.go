package sim

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// wantError checks that an error names the thing and what is wrong.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func TestBadConfigs(t *testing.T) {
	for _, c := range []struct {
		config Config
		word   string
	}{
		{Config{Racks: -1}, "Racks"},
		{Config{Uplink: -1}, "Uplink"},
		{Config{Uplink: math.NaN()}, "Uplink"},
		{Config{Jitter: math.NaN()}, "Jitter"},
		{Config{PeerTimeout: -1}, "PeerTimeout"},
		{Config{Costs: &Costs{Wire: -1}}, "Wire"},
		{Config{Costs: &Costs{Gap: math.Inf(1)}}, "Gap"},
	} {
		_, err := New(c.config)
		wantError(t, err, c.word)
	}
	f := newFabric(t, Config{Racks: 2})
	newHost(t, f, NodeConfig{Name: "a"})
	for _, c := range []struct {
		config NodeConfig
		word   string
	}{
		{NodeConfig{}, "name"},
		{NodeConfig{Name: "x/y"}, "x/y"},
		{NodeConfig{Name: strings.Repeat("x", 65)}, "64"},
		{NodeConfig{Name: "b", Rack: 2}, "rack 2"},
		{NodeConfig{Name: "b", Rate: -1}, "rate"},
		{NodeConfig{Name: "b", Wake: -1}, "wake"},
		{NodeConfig{Name: "a"}, "already"},
	} {
		_, err := f.NewDevice(c.config)
		wantError(t, err, c.word)
	}
	wantError(t, f.Crash("zz"), "zz")
	wantError(t, f.Partition([]string{"a"}, []string{"a"}), "a", "twice")
	wantError(t, f.SlowNode("a", 0), "factor")
	wantError(t, f.SlowLink("a", "a", 0.5), "one node")
}

func TestBadQueuePairs(t *testing.T) {
	f := newFabric(t, Config{})
	a, b := newHost(t, f, NodeConfig{Name: "a"}), newHost(t, f, NodeConfig{Name: "b"})
	for word, c := range map[string]driver.QueueConfig{
		"completion queue": {},
		"open one":         {Completions: b.queue},
		"send depth":       {Completions: a.queue, SendDepth: maxDepth + 1},
		"receive depth":    {Completions: a.queue, ReceiveDepth: -1},
		"spans":            {Completions: a.queue, MaxSpans: 17},
		"inline":           {Completions: a.queue, MaxInline: 257},
		"wait":             {Completions: a.queue, ReceiverWait: -1},
		"access":           {Completions: a.queue, Access: 128},
	} {
		_, err := a.domain.NewQueuePair(c)
		wantError(t, err, word, "a")
	}
	_, err := a.device.NewCompletionQueue(0)
	wantError(t, err, "depth 0")
	_, err = a.domain.Alloc(0, 0)
	wantError(t, err, "size 0")
	_, err = a.domain.Register(nil, 0)
	wantError(t, err, "empty")
	_, err = a.domain.Alloc(8, 200)
	wantError(t, err, "access")
}

func TestBadRequests(t *testing.T) {
	f, a, b, qa, qb := couple(t, Config{})
	good := driver.Request{Op: driver.OpWrite, Flags: driver.Quiet}
	for word, r := range map[string]driver.Request{
		"posted":    {Op: driver.OpReceive},
		"flags":     {Op: driver.OpWrite, Flags: 128},
		"8 bytes":   {Op: driver.OpFetchAdd, Span: a.span(0, 4), Remote: b.remote(0, 8)},
		"inline li": {Op: driver.OpWrite, Flags: driver.Inline, Span: a.span(0, 257)},
		"no bytes":  {Op: driver.OpRead, Flags: driver.Inline, Span: a.span(0, 8)},
		"5 spans":   {Op: driver.OpWrite, More: make([]driver.Span, 4)},
		"limit of":  {Op: driver.OpWrite, Span: driver.Span{Length: 1 << 31}},
	} {
		n, err := qa.Post([]driver.Request{good, r, good})
		wantError(t, err, word, "request 1", "of a")
		if n != 1 {
			t.Errorf("%s: %d were taken, want the one before", word, n)
		}
		must(t, f.Run(f.now.Add(time.Millisecond)))
	}
	n, err := qa.Post(make([]driver.Request, 0))
	if n != 0 || err != nil {
		t.Errorf("nothing posted: %d, %v", n, err)
	}
	full := make([]driver.Request, testDepth+1)
	for i := range full {
		full[i] = good
	}
	n, err = qa.Post(full)
	wantError(t, err, "full")
	if n != testDepth {
		t.Errorf("a queue of depth %d took %d", testDepth, n)
	}
	_, err = qb.PostReceive(make([]driver.Receive, testDepth+1))
	wantError(t, err, "full", "receive 64")
	fresh := a.pair()
	_, err = fresh.Post([]driver.Request{good})
	wantError(t, err, "New", "not Ready")
}

func TestBadAddresses(t *testing.T) {
	f := newFabric(t, Config{})
	a := newHost(t, f, NodeConfig{Name: "a"})
	q := a.pair()
	for address, word := range map[driver.Address]string{
		"":              "begin",
		"tcp:a/qp1#1":   "begin",
		"sim:a":         "/qp",
		"sim:a/qp1":     "#",
		"sim:a/qpx#1":   "number",
		"sim:a/qp0#1":   "number",
		"sim:a/qp1#-1":  "epoch",
		"sim:b/qp1#1":   "does not exist",
		q.Address():     "itself",
		"sim:a/qp1#9e9": "epoch",
	} {
		wantError(t, q.Connect(0, address), word)
	}
	if q.State() != driver.New {
		t.Errorf("state %v", q.State())
	}
}

func TestConnectGivesUp(t *testing.T) {
	f := newFabric(t, Config{})
	a, b := newHost(t, f, NodeConfig{Name: "a"}), newHost(t, f, NodeConfig{Name: "b"})
	qa, qb, third := a.pair(), b.pair(), b.pair()
	qa.mustReceive(t, driver.Receive{Tag: 5})
	must(t, qa.Connect(4, qb.Address()))
	must(t, qb.Connect(4, third.Address())) // wants another
	a.want(driver.OpConnect, driver.RetryExceeded)
	a.want(driver.OpReceive, driver.Flushed)
	if f.now < clock.Time(100*time.Millisecond) || qa.State() != driver.Error {
		t.Errorf("gave up at %v, state %v", f.now, qa.State())
	}
	wantError(t, qa.Connect(4, qb.Address()), "Error")
}

// Two queue pairs of one node may be connected: the bytes go through its NIC and back.
func TestLoopback(t *testing.T) {
	f := newFabric(t, Config{})
	a := newHost(t, f, NodeConfig{Name: "a"})
	q1, q2 := a.pair(), a.pair()
	join(a, a, q1, q2)
	a.setWord(0, 9)
	q1.must(t, driver.Request{Op: driver.OpWrite, Span: a.span(0, 5000), Remote: a.remote(8000, 5000)})
	a.want(driver.OpWrite, driver.OK)
	if a.word(8000) != 9 {
		t.Error("the write did not land")
	}
	must(t, f.Crash("a"))
	settled(t, f)
}

func TestCloseOrder(t *testing.T) {
	f, a, b, qa, qb := couple(t, Config{})
	wantError(t, a.device.Close(), "1 domains")
	wantError(t, a.domain.Close(), "still open")
	wantError(t, a.queue.Close(), "1 queue pairs")
	must(t, qa.Close())
	wantError(t, qa.Close(), "closed")
	must(t, a.memory.Close())
	wantError(t, a.memory.Close(), "already")
	must(t, a.domain.Close())
	wantError(t, second(a.domain.Alloc(8, 0)), "closed")
	must(t, a.queue.Close())
	wantError(t, second(a.queue.Poll(nil)), "closed")
	must(t, a.device.Close())
	wantError(t, a.device.Close(), "closed")
	must(t, f.Run(f.now.Add(time.Millisecond)))
	if qb.State() != driver.Error {
		t.Errorf("the peer is %v", qb.State())
	}
	_, err := f.Restart("a")
	must(t, err)
	_ = b
	settled(t, f)
}

func TestOverrun(t *testing.T) {
	f := newFabric(t, Config{})
	a := newHost(t, f, NodeConfig{Name: "a"})
	small, err := a.device.NewCompletionQueue(1)
	must(t, err)
	q := a.pair(func(c *driver.QueueConfig) { c.Completions = small })
	q.mustReceive(t, driver.Receive{}, driver.Receive{})
	must(t, q.Reset(1))
	wantError(t, second(small.Poll(nil)), "depth of 1")
}
