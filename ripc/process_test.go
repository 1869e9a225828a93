package ripc

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/host"
	"github.com/weft-fabric/weft/ripc/find/lan"
	"github.com/weft-fabric/weft/ripc/find/static"
	"github.com/weft-fabric/weft/verbs"
)

// childPlace tells another process, which runs TestChild, where it finds the others.
const childPlace = "WEFT_RIPC_CHILD"

// The lease in these tests: a process that stands still for longer loses its services.
const lease = 300 * time.Millisecond

// place is a way to find services, and where that is, as one word.
type place string

// places are a place for each resolver that can move a service, of the test's own. The network is everybody's, but for its key.
func places(t *testing.T, group string) map[string]place {
	all := map[string]place{"host": place("host " + filepath.Join(t.TempDir(), "weft")), "lan": place("lan 239.255.87." + group + ":17489 " + rand.Text())}
	if startEtcd != nil {
		all["etcd"] = place("etcd " + startEtcd(t))
	}
	return all
}

// startEtcd starts a server of etcd, and returns where; openEtcd opens a resolver there. Both are nil under the race detector,
// for which etcd takes minutes to be built.
var (
	startEtcd func(t *testing.T) (where string)
	openEtcd  func(where string) (find.Resolver, error)
)

func (p place) resolver() (find.Resolver, error) {
	kind, where, _ := strings.Cut(string(p), " ")
	switch kind {
	case "host":
		return host.Open(host.Config{Dir: where, Lease: lease})
	case "lan":
		group, key, _ := strings.Cut(where, " ")
		return lan.Open(lan.Config{Group: group, Interface: "lo", Lease: lease, Key: []byte(key)})
	case "etcd":
		return openEtcd(where)
	}
	return static.New(map[string][]string{"kv": {where}})
}

// open opens a node that other processes can reach.
func (p place) open() (n *Node, closeAll func() error, err error) {
	resolver, err := p.resolver()
	if err != nil {
		return nil, nil, err
	}
	nic, err := soft.New(soft.Config{Lanes: soft.AllLanes})
	if err != nil {
		return nil, nil, errors.Join(err, resolver.Close())
	}
	device, err := verbs.Open(nic)
	if err != nil {
		return nil, nil, errors.Join(err, resolver.Close())
	}
	config := Config{Device: device, Resolver: resolver}
	if where, ok := strings.CutPrefix(string(p), "static "); ok && os.Getenv(childPlace) != "" {
		config.Listen = []string{where}
	}
	if n, err = Open(config); err != nil {
		return nil, nil, errors.Join(err, resolver.Close(), device.Close())
	}
	return n, func() error { return errors.Join(n.Close(), resolver.Close(), device.Close()) }, nil
}

// TestChild is no test but the other process. It does what it reads, and says what it has done.
func TestChild(t *testing.T) {
	if os.Getenv(childPlace) == "" {
		t.Skip("only runs as another test's child")
	}
	say := func(words ...any) { fmt.Fprintln(os.Stderr, words...) }
	commands := bufio.NewScanner(os.Stdin)
	say("started")
	commands.Scan() // go, or call
	n, closeAll, err := place(os.Getenv(childPlace)).open()
	check(t, err)
	if commands.Text() == "call" { // and is killed
		_, err := n.Call(context.Background(), Name("kv"), []byte("hello"))
		say("was told", err)
	}
	s, err := takeOver(n)
	check(t, err)
	say("serves")
	var done sync.WaitGroup
	done.Go(func() {
		for m, err := range s.Messages(context.Background()) {
			if err != nil {
				say("ended", errors.Is(err, find.ErrSuperseded) || errors.Is(err, find.ErrLost), err)
				return
			}
			say("handled", string(m.Bytes()))
			if m.IsCall() {
				_ = m.Answer(context.Background(), m.Items()...)
			}
			m.Release()
		}
	})
	commands.Scan() // leave
	check(t, n.Shutdown(patient(t)))
	done.Wait()
	check(t, closeAll())
}

// takeOver registers the service as soon as nobody else has it.
func takeOver(n *Node) (*Service, error) {
	for {
		s, err := n.Register(context.Background(), "kv")
		if !errors.Is(err, find.ErrTaken) {
			return s, err
		}
		_ = pause.For(context.Background(), time.Millisecond)
	}
}

// child is another process that has the service, or waits for it.
type child struct {
	t       *testing.T
	process *os.Process
	command func(string)
	mu      sync.Mutex
	lines   []string
	isOver  bool
}

func startChild(t *testing.T, at place) *child {
	t.Helper()
	run := exec.Command(os.Args[0], "-test.run=^TestChild$")
	run.Env = append(os.Environ(), childPlace+"="+string(at))
	in, err := run.StdinPipe()
	check(t, err)
	out, err := run.StderrPipe()
	check(t, err)
	check(t, run.Start())
	c := &child{t: t, process: run.Process, command: func(word string) { _, _ = fmt.Fprintln(in, word) }}
	var reading sync.WaitGroup
	reading.Go(func() { c.read(bufio.NewScanner(out)) })
	t.Cleanup(func() {
		_ = run.Process.Kill()
		reading.Wait()
		_ = run.Wait()
		if t.Failed() {
			t.Logf("process %d said last: %q", run.Process.Pid, c.said()[max(0, len(c.said())-5):])
		}
	})
	c.until("started")
	return c
}

// serves starts a child, and waits until it has the service.
func serves(t *testing.T, at place) *child {
	t.Helper()
	c := startChild(t, at)
	c.command("go")
	c.until("serves")
	return c
}

// read notes what the child says, until it ends.
func (c *child) read(from *bufio.Scanner) {
	for from.Scan() {
		c.mu.Lock()
		c.lines = append(c.lines, from.Text())
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isOver = true
}

func (c *child) said() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines)
}

// until waits until the child has said something that begins so.
func (c *child) until(prefix string) string {
	c.t.Helper()
	for ctx := patient(c.t); ctx.Err() == nil; time.Sleep(time.Millisecond) {
		lines := c.said()
		if i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, prefix) }); i >= 0 {
			return lines[i]
		}
	}
	c.t.Fatalf("the child has not said %q", prefix)
	return ""
}

// waitEnd waits until the process is gone.
func (c *child) waitEnd() {
	c.t.Helper()
	for ctx := patient(c.t); ctx.Err() == nil; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		isOver := c.isOver
		c.mu.Unlock()
		if isOver {
			return
		}
	}
	c.t.Fatal("the child has not ended")
}

func (c *child) signal(s syscall.Signal) {
	c.t.Helper()
	check(c.t, c.process.Signal(s))
}

// handled is how often the child has handled each message.
func (c *child) handled(into map[string]int) {
	for _, line := range c.said() {
		if text, ok := strings.CutPrefix(line, "handled "); ok {
			into[text]++
		}
	}
}

// traffic is what flows to a service while it moves.
type traffic struct {
	mu     sync.Mutex
	errs   map[string][]error
	sent   map[string]bool // messages whose senders heard no error
	counts map[string]int  // of these, by kind
	stop   chan struct{}
	all    sync.WaitGroup
}

func startTraffic(n *Node) *traffic {
	tr := &traffic{errs: map[string][]error{}, sent: map[string]bool{}, counts: map[string]int{}, stop: make(chan struct{})}
	call := func(idempotent bool) func(string) error {
		return func(text string) error {
			m, err := n.Do(context.Background(), Request{To: Name("kv"), Items: [][]byte{[]byte(text)}, Idempotent: idempotent})
			if err == nil {
				m.Release()
			}
			return err
		}
	}
	send := func(idempotent bool) func(string) error {
		return func(text string) error {
			return n.Post(context.Background(), Request{To: Name("kv"), Items: [][]byte{[]byte(text)}, Idempotent: idempotent})
		}
	}
	for kind, f := range map[string]func(string) error{"call": call(false), "call!": call(true), "send": send(false), "send!": send(true)} {
		tr.all.Go(func() { tr.flow(kind, f) })
	}
	return tr
}

func (tr *traffic) flow(kind string, f func(text string) error) {
	for i := 0; ; i++ {
		select {
		case <-tr.stop:
			return
		default:
		}
		text := fmt.Sprint(kind, i)
		err := f(text)
		tr.mu.Lock()
		if err != nil {
			tr.errs[kind] = append(tr.errs[kind], err)
		} else {
			tr.sent[text] = true
			tr.counts[kind]++
		}
		tr.mu.Unlock()
		time.Sleep(100 * time.Microsecond)
	}
}

// more waits until some more of each kind have been sent.
func (tr *traffic) more(t *testing.T, n int) {
	t.Helper()
	tr.mu.Lock()
	want := map[string]int{}
	for _, kind := range []string{"call", "call!", "send", "send!"} {
		want[kind] = tr.counts[kind] + n
	}
	tr.mu.Unlock()
	for ctx := patient(t); ; time.Sleep(time.Millisecond) {
		tr.mu.Lock()
		isThere := !slices.ContainsFunc([]string{"call", "call!", "send", "send!"}, func(kind string) bool { return tr.counts[kind] < want[kind] })
		tr.mu.Unlock()
		if isThere {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the traffic does not go on: %v of %v, %v", tr.counts, want, tr.errs)
		}
	}
}

func (tr *traffic) end() {
	close(tr.stop)
	tr.all.Wait()
}

// openNode is a node of this process, among the children.
func (p place) openNode(t *testing.T) *Node {
	t.Helper()
	n, closeAll, err := p.open()
	check(t, err)
	t.Cleanup(func() { check(t, closeAll()) })
	return n
}

// exactlyOne checks that what is idempotent had no error, and everything else at most one for the message that was under way. It
// returns how many earlier messages the senders were told of.
func (tr *traffic) exactlyOne(t *testing.T) (told int) {
	t.Helper()
	for kind, errs := range tr.errs {
		ownErrors := 0
		for _, err := range errs {
			var earlier *UndeliveredError
			if errors.As(err, &earlier) {
				told += earlier.Count
			} else if ownErrors++; !errors.Is(err, ErrLost) {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if ownErrors > 1 || strings.HasSuffix(kind, "!") || kind == "call" && len(errs) > ownErrors {
			t.Errorf("%s: %d errors: %v", kind, len(errs), errs)
		}
	}
	return told
}

// onlyOnce checks that nothing was handled twice but what may be.
func onlyOnce(t *testing.T, children ...*child) map[string]int {
	t.Helper()
	handled := map[string]int{}
	for _, c := range children {
		c.handled(handled)
	}
	for text, n := range handled {
		if n > 1 && !strings.Contains(text, "!") {
			t.Errorf("%q was handled %d times", text, n)
		}
	}
	return handled
}

// A service is killed while calls flow, and another process takes it over: what is idempotent goes on, and who else was under way
// hears so once.
func TestAServiceThatIsKilledIsReplaced(t *testing.T) {
	for name, at := range places(t, "1") {
		t.Run(name, func(t *testing.T) {
			n := at.openNode(t)
			first, second := serves(t, at), startChild(t, at)
			tr := startTraffic(n)
			tr.more(t, 50)
			second.command("go") // it takes the service over when it can
			first.signal(syscall.SIGKILL)
			second.until("serves")
			tr.more(t, 50)
			tr.end()
			tr.exactlyOne(t)
			first.waitEnd()
			onlyOnce(t, first, second)
		})
	}
}

// A static table finds a service that restarts in its place.
func TestAServiceOfATableRestartsInPlace(t *testing.T) {
	at := place("static unix:" + filepath.Join(t.TempDir(), "kv"))
	n := at.openNode(t)
	first, second := serves(t, at), startChild(t, at)
	tr := startTraffic(n)
	tr.more(t, 50)
	first.signal(syscall.SIGKILL)
	first.waitEnd()
	second.command("go")
	second.until("serves")
	tr.more(t, 50)
	tr.end()
	tr.exactlyOne(t)
	onlyOnce(t, first, second)
}

// A service that is given up here and claimed there, while traffic flows, loses nothing: who does not wait for a message may hear
// that it came too late, but once.
func TestAServiceMigratesWithoutAnError(t *testing.T) {
	for name, at := range places(t, "2") {
		t.Run(name, func(t *testing.T) {
			n := at.openNode(t)
			first, second := serves(t, at), startChild(t, at)
			second.command("go")
			tr := startTraffic(n)
			tr.more(t, 50)
			first.command("leave")
			second.until("serves")
			tr.more(t, 50)
			tr.end()
			told := tr.exactlyOne(t)
			if errs := tr.errs["call"]; len(errs) > 0 {
				t.Errorf("a call failed: %v", errs)
			}
			first.waitEnd()
			second.command("leave")
			second.waitEnd() // it has handled all
			handled := onlyOnce(t, first, second)
			var lost []string
			for text := range tr.sent {
				if handled[text] == 0 {
					lost = append(lost, text)
				}
			}
			if len(lost) > told {
				t.Errorf("%q were lost, and their senders were told of %d", lost, told)
			}
		})
	}
}

// A process that is stopped, and loses its service meanwhile, handles nothing of what came since, and hears why.
func TestAStoppedProcessThatIsContinuedGetsNothing(t *testing.T) {
	for name, at := range places(t, "3") {
		t.Run(name, func(t *testing.T) {
			n := at.openNode(t)
			first, second := serves(t, at), startChild(t, at)
			tr := startTraffic(n)
			tr.more(t, 20)
			first.signal(syscall.SIGSTOP)
			second.command("go")
			second.until("serves")
			before := len(first.said())
			first.signal(syscall.SIGCONT)
			if line := first.until("ended"); !strings.HasPrefix(line, "ended true") {
				t.Errorf("it says %q", line)
			}
			// One message may have been received, by its only receiver, and not yet been told of when it was stopped.
			if late := first.said()[before:]; len(late) > 2 {
				t.Errorf("it has handled %q after another process had the service", late)
			}
			tr.more(t, 50)
			tr.end()
			tr.exactlyOne(t)
			onlyOnce(t, first, second)
		})
	}
}

func TestAServiceThatAnotherProcessHasIsTaken(t *testing.T) {
	for name, at := range places(t, "4") {
		t.Run(name, func(t *testing.T) {
			n := at.openNode(t)
			serves(t, at)
			var taken *find.TakenError
			if _, err := n.Register(patient(t), "kv"); !errors.As(err, &taken) || taken.By.Name != "kv" {
				t.Errorf("%v", err)
			}
		})
	}
}
