package soft

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs/driver"
)

// neighbourVariable is set, to how many queue pairs it shall have, in the environment of a process that is somebody's
// neighbour instead of running tests.
const neighbourVariable = "WEFT_NEIGHBOUR"

// patientConfig is for connections that many others come before.
func patientConfig() Config { return Config{Lanes: AllLanes, PeerTimeout: tolerance} }

// neighbourProcess is this test binary once more.
type neighbourProcess struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startNeighbour starts one as some user.
func startNeighbour(t testing.TB, pairs, user int) *neighbourProcess {
	t.Helper()
	p := &neighbourProcess{t: t, cmd: exec.Command("/proc/self/exe", "-test.run=^TestNeighbourProcess$")}
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", neighbourVariable, pairs))
	if user != os.Getuid() {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
	}
	p.start()
	return p
}

// start starts it. When the test ends, there is nothing more to read for it.
func (p *neighbourProcess) start() {
	p.t.Helper()
	p.cmd.Dir, p.cmd.Stderr = "/", os.Stderr
	in, err := p.cmd.StdinPipe()
	ok(p.t, err)
	out, err := p.cmd.StdoutPipe()
	ok(p.t, err)
	p.in, p.out = in, bufio.NewReader(out)
	ok(p.t, p.cmd.Start())
	p.t.Cleanup(func() {
		in.Close()
		_, _ = io.Copy(io.Discard, p.out)
		ok(p.t, p.cmd.Wait())
	})
}

func (p *neighbourProcess) hear() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	ok(p.t, err)
	return strings.TrimSpace(line)
}

func (p *neighbourProcess) say(line string) {
	p.t.Helper()
	_, err := fmt.Fprintln(p.in, line)
	ok(p.t, err)
}

// TestNeighbourProcess is the body of such a process: it tells its addresses, is told its peers', connects, says that it
// has, and what it costs, and goes when there is nothing more to read.
func TestNeighbourProcess(t *testing.T) {
	pairs, err := strconv.Atoi(os.Getenv(neighbourVariable))
	if err != nil {
		t.Skip("only in a process that another test starts")
	}
	h := newHostWith(t, patientConfig())
	m := h.memory(4096, driver.RemoteAll)
	list := make([]*QueuePair, pairs)
	before := measureProcess(t)
	var text strings.Builder
	for i := range list {
		list[i] = h.pair(small)
		fmt.Fprintln(&text, list[i].Address())
	}
	r := m.Region()
	fmt.Fprintf(&text, "%d %d\n", r.Address, r.RemoteKey)
	_, err = os.Stdout.WriteString(text.String())
	ok(t, err)
	in := bufio.NewReader(os.Stdin)
	for _, q := range list {
		line, err := in.ReadString('\n')
		ok(t, err)
		ok(t, q.Connect(connectTag, driver.Address(strings.TrimSpace(line))))
	}
	for range list {
		h.expect(connectTag, driver.OpConnect, driver.OK)
	}
	_, err = fmt.Fprintf(os.Stdout, "%v for each of %d queue pairs\n", measureProcess(t).since(before, pairs), pairs)
	ok(t, err)
	_, _ = io.Copy(io.Discard, in)
}

// small is a queue pair of little depth.
func small(c *driver.QueueConfig) { c.SendDepth, c.ReceiveDepth, c.MaxSpans = 8, 8, 1 }

// footprint is what a process has.
type footprint struct{ descriptors, heap, shared float64 }

func measureProcess(t testing.TB) footprint {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	ok(t, err)
	_, rest, _ := strings.Cut(string(status), "RssShmem:")
	shared, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	ok(t, err)
	return footprint{float64(countDescriptors(t)), float64(heapInUse()), shared * 1024}
}

func (f footprint) since(before footprint, n int) string {
	return fmt.Sprintf("%.4f descriptors, %.0f bytes of heap, %.0f of shared memory", (f.descriptors-before.descriptors)/float64(n),
		(f.heap-before.heap)/float64(n), (f.shared-before.shared)/float64(n))
}

// Ten thousand queue pairs between two processes: practical, and what each costs. In a short run there are fewer.
func TestTenThousandNeighbours(t *testing.T) {
	pairs := 10_000
	if testing.Short() {
		pairs = 500
	}
	h := newHostWith(t, patientConfig())
	m := h.memory(4096, 0)
	p := startNeighbour(t, pairs, os.Getuid())
	list := make([]*QueuePair, pairs)
	before := measureProcess(t)
	start := time.Now()
	for i := range list {
		list[i] = h.pair(small)
		ok(t, list[i].Connect(connectTag, driver.Address(p.hear())))
	}
	var there driver.RemoteSpan
	_, err := fmt.Sscan(p.hear(), &there.Address, &there.Key)
	ok(t, err)
	for _, q := range list {
		p.say(string(q.Address()))
	}
	for range list {
		h.expect(connectTag, driver.OpConnect, driver.OK)
	}
	t.Logf("connected in %v; here %v; there %s", time.Since(start).Round(time.Millisecond),
		measureProcess(t).since(before, pairs), p.hear())
	if d := measureProcess(t).descriptors - before.descriptors; d > 20 {
		t.Errorf("%d queue pairs take %v descriptors", pairs, d)
	}
	there.Length = 8
	for _, q := range list {
		post(t, q, driver.Request{Tag: 1, Op: driver.OpWrite, Span: span(m, 0, 8), Remote: there})
		h.expect(1, driver.OpWrite, driver.OK)
	}
}

// A process of another user that claims to be this one's is found out by the kernel's word, and reached by TCP instead.
func TestAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	const nobody = 65534
	var log bytes.Buffer
	config := patientConfig()
	config.Log = slog.New(slog.NewTextHandler(&lockedWriter{w: &log}, nil))
	h := newHostWith(t, config)
	q := h.pair(small)
	m := h.memory(4096, 0)
	p := startNeighbour(t, 1, nobody)
	claim := func(address, from, to string) string { // of being that user
		return strings.Replace(address, shmPart+from+tcpPart, shmPart+to+tcpPart, 1)
	}
	theirs := p.hear()
	var there driver.RemoteSpan
	_, err := fmt.Sscan(p.hear(), &there.Address, &there.Key)
	ok(t, err)
	ok(t, q.Connect(connectTag, driver.Address(claim(theirs, "65534", "0"))))
	p.say(claim(string(q.Address()), "0", "65534"))
	h.expect(connectTag, driver.OpConnect, driver.OK)
	if q.life.Load().tied() != nil || q.wire == nil {
		t.Error("memory is shared with another user")
	}
	p.hear()
	there.Length = 8
	post(t, q, driver.Request{Tag: 1, Op: driver.OpWrite, Span: span(m, 0, 8), Remote: there})
	h.expect(1, driver.OpWrite, driver.OK)
	h.close()
	if !strings.Contains(log.String(), "user 65534 is there, and memory is shared only within user 0") {
		t.Errorf("the log does not say why:\n%s", log.String())
	}
}

// lockedWriter may be written to by any goroutine.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
