package sim

import (
	"errors"
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
		{Config{Uplink: 0.5}, "Uplink"},
		{Config{Jitter: math.NaN()}, "Jitter"},
		{Config{PeerTimeout: -1}, "PeerTimeout"},
		{Config{Costs: &Costs{Wire: -1}}, "Wire"},
		{Config{Costs: &Costs{Gap: math.Inf(1)}}, "Gap"},
	} {
		_, err := New(c.config)
		wantArgument(t, err, c.word)
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
		{NodeConfig{Name: "b", Rate: 1e-320}, "rate"},
		{NodeConfig{Name: "b", Wake: -1}, "wake"},
		{NodeConfig{Name: "b", Wake: math.MaxInt64}, "wake"},
		{NodeConfig{Name: "b", Spin: -1}, "spin"},
		{NodeConfig{Name: "b", Spin: math.MaxInt64}, "spin"},
		{NodeConfig{Name: "a"}, "already"},
	} {
		_, err := f.NewDevice(c.config)
		wantArgument(t, err, c.word)
	}
}

// wantArgument checks that an error says, to people and to programs, that an argument is bad.
func wantArgument(t *testing.T, err error, words ...string) {
	t.Helper()
	wantError(t, err, words...)
	if !errors.Is(err, driver.ErrArgument) {
		t.Errorf("%v is not ErrArgument", err)
	}
}

// Whatever a program hands over by mistake, it gets the answer that the doc says, and nothing changes.
func TestBadCalls(t *testing.T) {
	f := newFabric(t, Config{})
	newHost(t, f, NodeConfig{Name: "a"})
	newHost(t, f, NodeConfig{Name: "b"})
	before := f.TraceHash()
	wantArgument(t, f.Crash("zz"), "zz")
	wantArgument(t, second(f.Restart("zz")), "zz")
	wantArgument(t, second(f.Restart("a")), "a", "up")
	wantArgument(t, f.Partition([]string{"a"}, []string{"a"}), "a", "twice")
	wantArgument(t, f.Partition([]string{"a"}, []string{"zz"}), "zz")
	wantArgument(t, f.SlowNode("zz", 0.5), "zz")
	wantArgument(t, f.Pause("zz", 1), "zz")
	wantArgument(t, f.Pause("a", -1), "pause a")
	for _, factor := range []float64{0, -1, 1.5, 1e-7, math.NaN()} {
		wantArgument(t, f.SlowNode("a", factor), "node a", "factor")
		wantArgument(t, f.SlowLink("a", "b", factor), "link a–b", "factor")
	}
	wantArgument(t, f.SlowLink("a", "a", 0.5), "one node")
	wantArgument(t, f.SlowLink("a", "zz", 0.5), "zz")
	wantArgument(t, f.SlowLink("zz", "a", 0.5), "zz")
	wantArgument(t, f.RunUntil(nil, 10), "nil")
	if name := f.NodeName(99); name != "" {
		t.Errorf("node 99 is called %q", name)
	}
	f.At(5, nil)
	f.At(clock.Never, func() { t.Error("never came") })
	f.ClearErr()
	must(t, f.Run(-5))
	must(t, f.Run(10))
	if more, err := f.Step(); more || err != nil || f.Events() != 0 || f.TraceHash() != before {
		t.Errorf("an event is left: %v, %v after %d events", more, err, f.Events())
	}
	must(t, f.Crash("b"))
	if err := f.Crash("b"); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("crashed twice: %v", err)
	}
}

func TestBadMemory(t *testing.T) {
	a := newHost(t, newFabric(t, Config{}), NodeConfig{Name: "a"})
	_, err := a.device.NewCompletionQueue(0)
	wantError(t, err, "depth 0")
	_, err = a.domain.Alloc(0, 0)
	wantError(t, err, "size 0")
	if _, err = a.domain.Alloc(1<<30+1, 0); !errors.Is(err, driver.ErrLimit) { // before the machine says so
		t.Errorf("more than a GiB: %v", err)
	}
	_, err = a.domain.Register(nil, 0)
	wantError(t, err, "empty")
	_, err = a.domain.Alloc(8, 200)
	wantError(t, err, "access")
}

// A device has so many queue pairs and no more; closed ones do not count.
func TestQueuePairLimit(t *testing.T) {
	a := newHost(t, newFabric(t, Config{}), NodeConfig{Name: "a"})
	var last *queuePair
	for range maxQueuePairs {
		last = a.pair()
	}
	_, err := a.domain.NewQueuePair(driver.QueueConfig{Completions: a.queue})
	wantError(t, err, "a has 65536 queue pairs")
	if !errors.Is(err, driver.ErrLimit) {
		t.Errorf("%v is not ErrLimit", err)
	}
	must(t, last.Close())
	last = a.pair()
	must(t, last.Close())
	// Numbers are not used again, however many there were.
	a.device.numbers = math.MaxUint32
	_, err = a.domain.NewQueuePair(driver.QueueConfig{Completions: a.queue})
	wantError(t, err, "has had 4294967295")
}

func TestPostNeedsAConnection(t *testing.T) {
	f := newFabric(t, Config{})
	a, b := newHost(t, f, NodeConfig{Name: "a"}), newHost(t, f, NodeConfig{Name: "b"})
	q := a.pair()
	_, err := q.Post([]driver.Request{{Op: driver.OpWrite}})
	wantError(t, err, "queue pair 1 of a", "New", "not Ready")
	must(t, q.Connect(1, b.pair().Address()))
	_, err = q.Post([]driver.Request{{Op: driver.OpWrite}})
	wantError(t, err, "Connecting", "not Ready")
	must(t, q.Close())
	_, err = q.Post([]driver.Request{{Op: driver.OpWrite}})
	wantError(t, err, "closed")
}

func TestPostOfNothing(t *testing.T) {
	f, _, _, qa, _ := couple(t, Config{})
	before := f.TraceHash()
	if n, err := qa.Post(nil); n != 0 || err != nil || f.TraceHash() != before || qa.queue.busy > f.now {
		t.Errorf("nothing posted: %d, %v; the host is busy until %v", n, err, qa.queue.busy)
	}
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
