package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/hosts"
)

// madeUpSize is that of the file that is pushed if none is named.
const madeUpSize = 256 << 20

// localAgents are agents on this host, for one push.
type localAgents struct {
	dir       string            // of all that belongs to them
	lock      *os.File          // of that
	addresses map[string]string // by name
	outputs   []*os.File

	mu     sync.Mutex // around family: who ends this process at once has it in another goroutine
	family family
}

// Reach knows where they listen: any port that was free.
func (l *localAgents) Reach(_ context.Context, host hosts.Host) (address, service string, err error) {
	return l.addresses[host.Name], control.Service(host.Name), nil
}

// withAgents does the work, with agents of this host if that was asked for. They and what they have written are gone afterwards.
func (s *pushSettings) withAgents(ctx context.Context, work func(context.Context) error) (err error) {
	if s.local == 0 {
		return work(ctx)
	}
	l := &localAgents{addresses: map[string]string{}}
	if err := s.makeFolder(l); err != nil {
		return err
	}
	defer l.lock.Close() //nolint:errcheck // it was only locked
	defer onExit(ctx, func() { s.abandon(l) })()
	defer func() { err = errors.Join(err, s.leave(l)) }()
	if !s.mute && !s.asJSON {
		fmt.Fprintf(s.errs, "starting %s in %s\n", counted(s.local, "agent"), l.dir)
	}
	if err := s.prepare(l); err != nil {
		return err
	}
	if err := s.startAgents(ctx, l); err != nil {
		return err
	}
	return work(ctx)
}

// makeFolder makes the folder of agents, and removes those that earlier pushes could not, because they were killed.
func (s *pushSettings) makeFolder(l *localAgents) (err error) {
	for _, below := range []string{os.TempDir(), memoryFolder} {
		sweepFolders(below)
	}
	pattern := localPattern
	if s.keep {
		pattern = keptPattern
	}
	l.dir, l.lock, err = lockedFolder(s.roomiest(), pattern)
	return err
}

// memoryFolder is where files lie in memory.
const memoryFolder = "/dev/shm"

// roomiest is where to make folders; empty: where the system has them. What is made up goes into memory if there is plenty: then disks do
// not decide how fast it looks.
func (s *pushSettings) roomiest() string {
	if need := s.madeUpRoom(); os.Getenv("TMPDIR") == "" && need > 0 && cast.FreeMemory() > 3*need && haveRoom(memoryFolder, need) == nil {
		return memoryFolder
	}
	return ""
}

// madeUpRoom is how many bytes it takes to push something made up; 0: it is not.
func (s *pushSettings) madeUpRoom() uint64 {
	if len(s.config.Sources) > 0 {
		return 0
	}
	return madeUpSize * uint64(1+s.local)
}

// leave ends the agents, and removes everything: there is nothing that they would have to bring to an end.
func (s *pushSettings) leave(l *localAgents) error {
	for _, c := range l.family.children {
		_ = c.command.Process.Kill() // it may have ended
	}
	_ = l.family.end(false) // that they were killed is no news, and one that failed was reported as a host that did
	for _, output := range l.outputs {
		_ = output.Close() // it was only read
	}
	if s.keep {
		_, err := fmt.Fprintf(s.errs, "weft: what was made is in %s\n", l.dir)
		return err
	}
	return os.RemoveAll(l.dir)
}

// abandon is leave for who cannot wait: this process ends at once.
func (s *pushSettings) abandon(l *localAgents) {
	if s.keep {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.family.children {
		_ = c.command.Process.Kill() // it may have ended
	}
	soon, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, c := range l.family.children {
		select {
		case <-c.ended: // who still writes keeps its folder from being removed
		case <-soon.Done():
		}
	}
	_ = os.RemoveAll(l.dir) // nobody is left to hear of it
}

// prepare makes what the agents and their pusher need: keys, folders, and something to push.
func (s *pushSettings) prepare(l *localAgents) error {
	a, err := newAuthority(filepath.Join(l.dir, "keys"), defaultCluster, 0)
	if err != nil {
		return err
	}
	for _, name := range append([]string{control.RolePusher}, s.names...) {
		b, err := a.Issue(requestForPush(name, oneDay))
		if err != nil {
			return err
		}
		if err := b.Write(l.key(name)); err != nil {
			return err
		}
	}
	s.keys, s.config.Reach = []string{l.key(control.RolePusher)}, l
	if len(s.config.Sources) > 0 {
		return nil
	}
	if err := haveRoom(l.dir, s.madeUpRoom()); err != nil {
		return err
	}
	path := filepath.Join(l.dir, "256MiB.bin")
	s.config.Sources = []string{path}
	return makeUp(path, madeUpSize)
}

func (l *localAgents) key(name string) string { return keyPath(filepath.Join(l.dir, "keys"), name) }

// haveRoom says early that a disk is too small.
func haveRoom(dir string, need uint64) error {
	var at unix.Statfs_t
	if err := unix.Statfs(dir, &at); err != nil {
		return fmt.Errorf("look for room in %s: %w", dir, err)
	}
	if free := at.Bavail * uint64(at.Bsize); free < need {
		return fmt.Errorf("%s has %v free, and %v are needed: say TMPDIR=DIR, a lower --local, or a file SRC that is smaller",
			filepath.Dir(dir), units.Size(free>>20<<20), units.Size(need))
	}
	return nil
}

// makeUp writes a file that nobody has seen before.
func makeUp(path string, size int64) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(rand.Uint32())
	}
	_, err = io.CopyN(file, rand.NewChaCha8(seed), size)
	return err
}

// startAgents starts all of them, and waits until they can be reached.
func (s *pushSettings) startAgents(ctx context.Context, l *localAgents) error {
	for _, name := range s.names {
		if err := l.start(name); err != nil {
			return err
		}
	}
	for i, name := range s.names {
		address, err := l.awaitReady(ctx, i)
		if err != nil {
			return err
		}
		l.addresses[name] = address
	}
	return nil
}

// start starts one agent.
func (l *localAgents) start(name string) error {
	root := filepath.Join(l.dir, name)
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	c, output, err := startTalkingChild("the agent of "+name,
		[]string{"agent", "--root", root, "--listen", "127.0.0.1:0", "--keys", l.key(name), "--json", "--child"})
	if err != nil {
		return err
	}
	go c.runWait(func(error) {})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.family.children, l.outputs = append(l.family.children, c), append(l.outputs, output)
	return nil
}

// awaitReady waits until an agent says where it listens. If ctx ends, that is the end of its output, too.
func (l *localAgents) awaitReady(ctx context.Context, i int) (string, error) {
	defer context.AfterFunc(ctx, func() { _ = l.outputs[i].SetReadDeadline(time.Now()) })()
	var ready agentEvent
	if err := json.NewDecoder(l.outputs[i]).Decode(&ready); err != nil || ready.Event != "ready" {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		c := l.family.children[i]
		return "", errors.Join(c.end(), fmt.Errorf("%s did not say where it listens: %w", c.what, err))
	}
	return ready.Address, nil
}
