package etcd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/find/etcd/embedded"
)

// holderVar makes this test binary a process that holds a service in the directory at that endpoint.
const holderVar = "WEFT_ETCD_HOLDER"

// runHolder claims a service and says so. For every line that it reads it says whether it might deliver a message now.
func runHolder(endpoint string) {
	d, err := Open(context.Background(), Config{Endpoints: []string{endpoint}, TTL: 2 * time.Second, Timeout: time.Minute})
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return
	}
	defer d.Close()
	c, err := d.Claim(context.Background(), named("kv/3", 1))
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return
	}
	fmt.Fprintln(os.Stdout, "claimed")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Fprintln(os.Stdout, c.ValidUntil() > clock.Real.Now())
	}
}

// process is a process that runs runHolder.
type process struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, endpoint string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0])}
	p.Env, p.Stderr = append(os.Environ(), holderVar+"="+endpoint), os.Stderr
	p.in, _ = p.StdinPipe()
	out, _ := p.StdoutPipe()
	p.out = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Process.Kill()
		p.Wait()
	})
	p.says(t, "claimed")
	return p
}

// says reads the process's next line.
func (p *process) says(t *testing.T, want string) {
	t.Helper()
	if line, err := p.out.ReadString('\n'); err != nil || strings.TrimSpace(line) != want {
		t.Fatalf("the process says %q, %v; want %q", line, err, want)
	}
}

func (p *process) ask(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(p.in, "?\n"); err != nil {
		t.Fatal(err)
	}
}

func TestAProcessThatIsStoppedAndContinuedDeliversNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a lease to run out or to be renewed")
	}
	t.Parallel()
	s := serve(t, embedded.Config{})
	d := open(t, s.Endpoint())
	p := start(t, s.Endpoint())
	p.ask(t)
	p.says(t, "true")
	p.Process.Signal(syscall.SIGSTOP)
	if _, err := d.TakeOver(t.Context(), named("kv/3", 2)); err != nil {
		t.Fatal(err)
	}
	p.ask(t) // before it can learn anything
	p.Process.Signal(syscall.SIGCONT)
	p.says(t, "false")
}

func TestTheServiceOfAKilledProcessMoves(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a lease to run out or to be renewed")
	}
	t.Parallel()
	s := serve(t, embedded.Config{})
	d := open(t, s.Endpoint())
	p := start(t, s.Endpoint())
	p.Process.Kill()
	if c, err := d.TakeOver(t.Context(), named("kv/3", 2)); err != nil || c.Record().Node != node(2) {
		t.Errorf("%v, %v", c, err)
	}
}
