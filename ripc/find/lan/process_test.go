package lan

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/find"
)

const childGroup = "WEFT_FIND_LAN_CHILD"

// TestChild is no test but the other process: it claims a service, and says how the claim ends.
func TestChild(t *testing.T) {
	if os.Getenv(childGroup) == "" {
		t.Skip("only runs as another test's child")
	}
	r := start(t, Config{Group: os.Getenv(childGroup)})
	c := claimed(t, r, named("kv", 1))
	fmt.Fprintln(os.Stderr, "claimed")
	<-c.Done()
	fmt.Fprintf(os.Stderr, "superseded %v, valid %v\n", errors.Is(c.Err(), find.ErrSuperseded), c.ValidUntil() > clock.Real.Now())
}

func TestAStoppedProcessLearnsThatItWasSuperseded(t *testing.T) {
	config := group(100)
	child := exec.Command(os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), childGroup+"="+config.Group)
	out, err := child.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	says := bufio.NewReader(out)
	if line, err := says.ReadString('\n'); line != "claimed\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	r := start(t, config)
	if _, err := r.Claim(t.Context(), named("kv", 2)); !errors.Is(err, find.ErrTaken) {
		t.Fatal(err)
	}
	_ = child.Process.Signal(syscall.SIGSTOP)
	c, err := r.Claim(t.Context(), named("kv", 2))
	for ; errors.Is(err, find.ErrTaken); c, err = r.Claim(t.Context(), named("kv", 2)) {
		time.Sleep(time.Millisecond) // an answer was still under way
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = child.Process.Signal(syscall.SIGCONT)
	if line, err := says.ReadString('\n'); line != "superseded true, valid false\n" {
		t.Errorf("the child says %q, %v", line, err)
	}
	if c.Err() != nil {
		t.Error(c.Err())
	}
}
