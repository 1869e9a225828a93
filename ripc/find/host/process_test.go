package host

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

const childDir = "WEFT_FIND_HOST_CHILD"

// TestChild is no test but the other process: it claims a service, and says how the claim ends.
func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("only runs as another test's child")
	}
	r, err := Open(Config{Dir: dir, Lease: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Claim(t.Context(), named("kv", 1))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(os.Stderr, "claimed")
	<-c.Done()
	fmt.Fprintf(os.Stderr, "superseded %v, valid %v\n", errors.Is(c.Err(), find.ErrSuperseded), c.ValidUntil() > clock.Real.Now())
	r.Close()
}

// startChild starts TestChild, and returns it with what it says after it has claimed.
func startChild(t *testing.T, dir string) (*os.Process, *bufio.Reader) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), childDir+"="+dir)
	out, err := child.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	says := bufio.NewReader(out)
	if line, err := says.ReadString('\n'); line != "claimed\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	return child.Process, says
}

// takeOver claims until nobody else has the service.
func takeOver(t *testing.T, r *Resolver, record find.Record) find.Claim {
	t.Helper()
	for {
		c, err := r.Claim(t.Context(), record)
		if err == nil {
			return c
		}
		if !errors.Is(err, find.ErrTaken) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestAServiceOfAKilledProcessIsFreeAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "weft")
	r := start(t, dir)
	child, says := startChild(t, dir)
	if _, err := r.Claim(t.Context(), named("kv", 2)); !errors.Is(err, find.ErrTaken) {
		t.Fatal(err)
	}
	child.Kill()
	says.ReadString('\n') // it ends when the process does
	if len(at(t, r, wire.NameID("kv"))) > 0 {
		t.Error("a dead process is found")
	}
	claimed(t, r, named("kv", 2))
	start(t, dir)
	if n := strings.Count(strings.Join(files(t, dir), " "), holderPrefix); n != 2 {
		t.Errorf("%d holders, 2 of them live", n)
	}
}

func TestAStoppedProcessLearnsThatItWasSuperseded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "weft")
	r := start(t, dir)
	child, says := startChild(t, dir)
	child.Signal(syscall.SIGSTOP)
	takeOver(t, r, named("kv", 2))
	child.Signal(syscall.SIGCONT)
	if line, err := says.ReadString('\n'); line != "superseded true, valid false\n" {
		t.Errorf("the child says %q, %v", line, err)
	}
	if !at(t, r, wire.NameID("kv"))[node(2)] {
		t.Error("who took the service over has lost it")
	}
}

// TestNoTwoHaveOneService: holders that stand still at any time take a service from each other. None of them may find itself
// valid after another was given the service.
func TestNoTwoHaveOneService(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "weft")
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	var given sync.Map // epoch → when it was surely given
	type sample struct {
		epoch uint64
		at    clock.Time
	}
	var all sync.Map // holder → []sample
	var holders sync.WaitGroup
	for n := range byte(3) {
		r := still(t, dir, minLease)
		holders.Go(func() {
			chance := rand.New(rand.NewSource(seed + int64(n)))
			var samples []sample
			var c find.Claim
			for range 300 {
				if c == nil || c.Err() != nil {
					if c, _ = r.Claim(t.Context(), named("kv", n)); c != nil {
						given.Store(c.Record().Epoch, clock.Real.Now())
					}
				} else if until, now := c.ValidUntil(), clock.Real.Now(); now < until {
					samples = append(samples, sample{c.Record().Epoch, now})
				}
				if chance.Intn(3) > 0 {
					_ = r.renew()
				}
				time.Sleep(time.Duration(chance.Intn(int(minLease/4))) * time.Duration(1+7*(chance.Intn(8)/7)))
			}
			all.Store(n, samples)
		})
	}
	holders.Wait()
	claims, valid := 0, 0
	given.Range(func(epoch, when any) bool {
		claims++
		all.Range(func(n, samples any) bool {
			for _, s := range samples.([]sample) {
				valid++
				if s.epoch < epoch.(uint64) && s.at >= when.(clock.Time) {
					t.Errorf("holder %v found epoch %d valid at %v, but %d was given by %v", n, s.epoch, s.at, epoch, when)
				}
			}
			return true
		})
		return true
	})
	if claims < 2 || valid == 0 {
		t.Errorf("%d claims, %d times valid: nothing was tested", claims, valid)
	}
	t.Logf("%d claims", claims)
}
