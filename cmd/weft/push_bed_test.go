package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/manifest"
)

// bed is some agents, each a process with a root, a certificate and an address of its own: 127.0.0.1 and so on are their names.
type bed struct {
	t      *testing.T
	keys   string // folder
	agents []*agentProcess
}

// agentProcess is one agent of a bed.
type agentProcess struct {
	t             *testing.T
	name, root    string
	keys, address string
	args, env     []string
	cmd           *exec.Cmd
	log           *lines
}

// newBed starts some agents.
func newBed(t *testing.T, n int) *bed {
	t.Helper()
	b := bareBed(t, n)
	for _, a := range b.agents {
		a.start()
	}
	return b
}

// bareBed has agents that have not been started.
func bareBed(t *testing.T, n int) *bed {
	t.Helper()
	freshFolders(t)
	b := &bed{t: t, keys: filepath.Join(t.TempDir(), "keys")}
	keysJSON(t, "make", b.keys, fmt.Sprintf("127.0.0.[1-%d]", n), "--push")
	for i := range n {
		name := fmt.Sprint("127.0.0.", i+1)
		b.agents = append(b.agents, &agentProcess{t: t, name: name, root: t.TempDir(), keys: keyPath(b.keys, name), address: name + ":0"})
	}
	return b
}

// start starts the agent, again at the same port. It is told to end with the test, and has to do that well.
func (a *agentProcess) start() {
	a.t.Helper()
	cmd := command(a.t, append([]string{"agent", "--root", a.root, "--keys", a.keys, "--listen", a.address, "--json"}, a.args...)...)
	cmd.Env = append(cmd.Env, a.env...)
	a.cmd, a.log = cmd, &lines{}
	cmd.Stderr = a.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { a.end(cmd) })
	var ready agentEvent
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		a.t.Fatalf("%v: %s", err, a.log)
	}
	a.address = ready.Address
}

// end has the agent end, unless it has been killed.
func (a *agentProcess) end(cmd *exec.Cmd) {
	if cmd.ProcessState != nil {
		return
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have died: that is seen now
	if status := ended(a.t, cmd); status != 0 {
		a.t.Errorf("agent %s ends with %d: %s", a.name, status, a.log)
	}
	if text := a.log.String(); strings.Contains(text, "panic") || strings.Contains(text, "DATA RACE") {
		a.t.Errorf("agent %s: %s", a.name, text)
	}
}

// kill is kill -9.
func (a *agentProcess) kill() {
	_ = a.cmd.Process.Kill() // it runs
	_ = a.cmd.Wait()         // it was killed, and says so
}

// hosts are the agents for -w.
func (b *bed) hosts() string {
	list := make([]string, len(b.agents))
	for i, a := range b.agents {
		list[i] = a.address
	}
	return strings.Join(list, ",")
}

// line is the command line of a push by the one who may, to all agents. Later flags win.
func (b *bed) line(args ...string) []string {
	return append([]string{"push", "--json", "--keys", keyPath(b.keys, "pusher"), "-w", b.hosts()}, args...)
}

// outcome is how a push ended.
type outcome struct {
	*push.Report
	status int
	errs   string
}

// push pushes, and wants an exit status.
func (b *bed) push(want int, args ...string) outcome {
	b.t.Helper()
	return b.run(want, b.line(args...)...)
}

func (b *bed) run(want int, args ...string) outcome {
	b.t.Helper()
	status, out, errs := pushed(b.t, args...)
	o := outcome{reportIn(b.t, out), status, errs}
	if status != want {
		b.t.Fatalf("status %d, want %d: %s\n%s%s", status, want, errs, out, b.logs())
	}
	return o
}

func (b *bed) logs() string {
	var all strings.Builder
	for _, a := range b.agents {
		fmt.Fprintf(&all, "%s:\n%s", a.name, a.log)
	}
	return all.String()
}

// reportIn is the last event of a push, or an empty report.
func reportIn(t *testing.T, out string) *push.Report {
	t.Helper()
	var last push.Event
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		last = push.Event{}
		if err := json.Unmarshal(lines.Bytes(), &last); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
	}
	if last.Report == nil {
		return &push.Report{}
	}
	return last.Report
}

// of is how it ended for an agent.
func (o outcome) of(a *agentProcess) push.HostReport {
	a.t.Helper()
	for _, h := range o.Hosts {
		if h.Host == a.address {
			return h
		}
	}
	a.t.Fatalf("%s is not in the report: %+v, %s", a.address, o.Report, o.errs)
	return push.HostReport{}
}

// start starts a push that takes a while: each host sends 4 MB a second.
func (b *bed) start(args ...string) *running {
	b.t.Helper()
	r := &running{bed: b, cmd: command(b.t, b.line(append([]string{"--bwlimit", "4MB", "--provider", "tcp", "--block", "64KiB"}, args...)...)...)}
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.errs
	if err := r.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			_ = r.cmd.Process.Kill()
			_ = r.cmd.Wait()
		}
	})
	return r
}

// running is a push under way.
type running struct {
	bed       *bed
	cmd       *exec.Cmd
	out, errs lines
}

// end waits for the end of a push, and wants an exit status.
func (r *running) end(want int) outcome {
	r.bed.t.Helper()
	o := outcome{status: ended(r.bed.t, r.cmd), errs: r.errs.String()}
	if o.status != want {
		r.bed.t.Fatalf("status %d, want %d: %s\n%s%s", o.status, want, o.errs, r.out.String(), r.bed.logs())
	}
	if want >= 0 {
		o.Report = reportIn(r.bed.t, r.out.String())
	}
	return o
}

// stop is two times Ctrl-C.
func (r *running) stop() outcome {
	r.bed.t.Helper()
	_ = r.cmd.Process.Signal(os.Interrupt)
	time.Sleep(20 * time.Millisecond) // two signals at once are one
	_ = r.cmd.Process.Signal(os.Interrupt)
	return r.end(push.ExitInterrupted)
}

// await waits until an agent has so many blocks on its disk.
func (a *agentProcess) await(blocks int) {
	a.t.Helper()
	for deadline := time.Now().Add(time.Minute); a.held() < blocks; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			a.t.Fatalf("%s has %d blocks, and should have %d: %s", a.name, a.held(), blocks, a.log)
		}
	}
}

// held is how many blocks the map of the agent's only partial has.
func (a *agentProcess) held() (n int) {
	for _, path := range a.partials() {
		octets, err := os.ReadFile(filepath.Join(path, "map"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.t.Fatal(err)
		}
		for _, octet := range octets {
			n += bits.OnesCount8(octet)
		}
	}
	return n
}

func (a *agentProcess) partials() []string {
	list, _ := filepath.Glob(filepath.Join(a.root, ".weft", "partial", "*")) // the pattern is right
	return list
}

// check is for after every push, however it ended: in roots is nothing but what the sources have, with the same bytes, and in the folder of
// the agent nothing but partials that a rerun will take up, or nothing at all where a push was finished.
func (b *bed) check(o outcome, sources ...string) {
	b.t.Helper()
	for _, a := range b.agents {
		a.checkNames(sources)
		a.checkFolder(o)
	}
}

// checkNames compares all names below the root with those of the sources.
func (a *agentProcess) checkNames(sources []string) {
	a.t.Helper()
	tops, err := os.ReadDir(a.root)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, top := range tops {
		if top.Name() == ".weft" {
			continue
		}
		from := ""
		for _, s := range sources {
			if filepath.Base(s) == top.Name() {
				from = s
			}
		}
		if from == "" {
			a.t.Errorf("%s: nobody has sent %s", a.name, top.Name())
			continue
		}
		a.compare(from, filepath.Join(a.root, top.Name()))
	}
}

// compare checks that everything in a tree that was written is the same in its source.
func (a *agentProcess) compare(from, to string) {
	a.t.Helper()
	err := filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rest := strings.TrimPrefix(path, to)
		if !bytes.Equal(contentOf(path), contentOf(from+rest)) {
			a.t.Errorf("%s: %s is not what was sent", a.name, path)
		}
		return nil
	})
	if err != nil {
		a.t.Error(err)
	}
}

// contentOf is what a file holds, or a link says.
func contentOf(path string) []byte {
	if link, err := os.Readlink(path); err == nil {
		return []byte("-> " + link)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return []byte(err.Error())
	}
	return text
}

// checkFolder looks into the folder of the agent.
func (a *agentProcess) checkFolder(o outcome) {
	a.t.Helper()
	list, err := os.ReadDir(filepath.Join(a.root, ".weft"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.t.Error(err)
	}
	for _, entry := range list {
		if entry.Name() != "partial" {
			a.t.Errorf("%s: %s is in the folder of the agent", a.name, entry.Name())
		}
	}
	if o.Report == nil {
		return
	}
	for _, h := range o.Hosts {
		if left := a.partials(); h.Host == a.address && h.Outcome == push.OutcomeVerified && !o.isDry() && len(left) > 0 {
			a.t.Errorf("%s has everything, and %q is left", a.name, left)
		}
	}
}

// isDry reports whether nothing was to be changed.
func (o outcome) isDry() bool { return o.Root == "" }

// whole checks that agents have all of a source.
func (b *bed) whole(source string, agents ...*agentProcess) {
	b.t.Helper()
	for _, a := range agents {
		same(b.t, source, filepath.Join(a.root, filepath.Base(source)))
	}
}

// finish says the same push again: everybody has it then, and was sent only what it had not.
func (b *bed) finish(source string, args ...string) outcome {
	b.t.Helper()
	before := make([]int, len(b.agents))
	for i, a := range b.agents {
		if before[i] = a.held(); len(a.partials()) == 0 && exists(filepath.Join(a.root, filepath.Base(source))) {
			before[i] = -1
		}
	}
	o := b.push(push.ExitOK, append([]string{source, ".", "--block", "64KiB"}, args...)...)
	for i, a := range b.agents {
		if most := o.lacking(before[i]); o.of(a).Received > most {
			b.t.Errorf("%s had %d of the blocks, and received %d bytes, of which %d were lacking", a.name, before[i], o.of(a).Received, most)
		}
	}
	b.check(o, source)
	b.whole(source, b.agents...)
	return o
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// lacking is how many bytes an agent is sent that has some blocks of the content, or all: -1. The manifest comes every time.
func (o outcome) lacking(had int) uint64 {
	content := manifest.NewLayout(manifest.ContentStream, o.Bytes, o.Plan.Block)
	list := manifest.NewLayout(manifest.ManifestStream, 4<<10, o.Plan.Block)
	if had < 0 {
		had = content.Blocks()
	}
	return list.WireSize() + uint64(content.Blocks()-had)*uint64(content.Wire())
}

// noise is a file that does not compress, the same for the same size.
func noise(t *testing.T, name string, size int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, noiseOf(size), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func noiseOf(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(size)}).Read(b) // it never fails
	return b
}

// long is the first number, or the second one with WEFT_LONG.
func long(short, full int) int {
	if os.Getenv("WEFT_LONG") != "" {
		return full
	}
	return short
}

// clear removes what pushes have brought.
func (a *agentProcess) clear() {
	a.t.Helper()
	tops, err := os.ReadDir(a.root)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, top := range tops {
		if top.Name() != ".weft" {
			if err := os.RemoveAll(filepath.Join(a.root, top.Name())); err != nil {
				a.t.Fatal(err)
			}
		}
	}
}

// pushID is that of the agent's only partial.
func (a *agentProcess) pushID() string {
	a.t.Helper()
	text, err := os.ReadFile(filepath.Join(a.partials()[0], "info"))
	if err != nil {
		a.t.Fatal(err)
	}
	var info struct{ ID string }
	if err := json.Unmarshal(text, &info); err != nil {
		a.t.Fatal(err)
	}
	return info.ID
}
