package crew

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is one member, seen from the test.
type process struct {
	name   string
	away   bool // it lives on another machine, where the same test runs: it is as if it did whatever it is told
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Encoder
	errors bytes.Buffer // what it wrote to standard error; to be read when it has ended
	dead   bool         // it was killed
	told   int          // orders that were answered
	ended  chan struct{}

	mu      sync.Mutex
	reports []report
	changed chan struct{} // closed at the next report
}

func startProcess(t *testing.T, name string) *process {
	t.Helper()
	p := &process{name: name, ended: make(chan struct{}), changed: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), childVariable+"="+name)
	p.cmd.Stderr = &p.errors
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // one that is stopped would live for ever
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.out = json.NewEncoder(p.in)
	go p.runReports(out)
	return p
}

// runReports reads what the member says until it ends; bury waits for that.
func (p *process) runReports(from io.Reader) {
	defer close(p.ended)
	for lines := json.NewDecoder(from); ; {
		var r report
		if lines.Decode(&r) != nil {
			break // also in the middle of a line: the member was killed
		}
		p.mu.Lock()
		p.reports = append(p.reports, r)
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, from)
}

// look is what was reported, and a channel that is closed when there is more.
func (p *process) look() ([]report, chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.reports), p.changed
}

func (p *process) seen() []report {
	seen, _ := p.look()
	return seen
}

// await waits until what was reported is enough.
func (p *process) await(t *testing.T, what string, enough func([]report) bool) []report {
	t.Helper()
	if p.away {
		return nil
	}
	limit := time.After(patience)
	for {
		seen, more := p.look()
		if enough(seen) {
			return seen
		}
		select {
		case <-more:
		case <-p.ended:
			if seen := p.seen(); enough(seen) {
				return seen
			}
			t.Fatalf("%s ended before %s", p.name, what)
		case <-limit:
			t.Fatalf("%s: %s did not come in %v", p.name, what, patience)
		}
	}
}

// tell gives an order. A member that is dead does not hear it, and will not answer.
func (p *process) tell(o order) {
	if !p.away {
		_ = p.out.Encode(o)
	}
}

// answer waits for the answer to the next order: what went wrong, or nothing.
func (p *process) answer(t *testing.T) string {
	t.Helper()
	if p.away {
		return ""
	}
	p.told++
	seen := p.await(t, "an answer", func(seen []report) bool { return len(answers(seen)) >= p.told })
	return answers(seen)[p.told-1].Error
}

func answers(seen []report) []report {
	return slices.DeleteFunc(slices.Clone(seen), func(r report) bool { return r.Kind != kindDone })
}

// bury waits for the end of the process.
func (p *process) bury() {
	<-p.ended
	_ = p.cmd.Wait() // the state says it better
}

// end ends the process, if it still lives: a healthy one ends with its input.
func (p *process) end(t *testing.T) {
	t.Helper()
	if p.away {
		return
	}
	p.in.Close()
	if t.Failed() {
		_ = p.cmd.Process.Kill()
	}
	if !p.dead {
		watchdog := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
		p.bury()
		watchdog.Stop()
	}
	if !p.dead && !p.cmd.ProcessState.Success() && !t.Failed() {
		t.Errorf("%s ended as %v", p.name, p.cmd.ProcessState)
	}
}

// story is the last reports, for people.
func (p *process) story() string {
	seen := p.seen()
	var lines []string
	for _, r := range seen[max(0, len(seen)-10):] {
		line, _ := json.Marshal(r)
		lines = append(lines, string(line))
	}
	return strings.Join(lines, "\n    ")
}
