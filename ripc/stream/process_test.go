package stream

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
)

const childDir = "WEFT_STREAM_CHILD"

// runChild accepts connections, reads the first byte of each and sends it back, and leaves the rest unread, until it is killed.
func runChild() error {
	n, _, err := openNode(os.Getenv(childDir), soft.AllLanes)
	if err != nil {
		return err
	}
	l, err := Listen(context.Background(), n, "there")
	if err != nil {
		return err
	}
	os.Stdout.WriteString("ready\n")
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		if _, err := io.CopyN(c, c, 1); err != nil {
			return err
		}
	}
}

// greeted is a connection with the child, on which a byte has gone there and back.
func greeted(t testing.TB, n *ripc.Node) *Conn {
	c, err := Dial(patient(t), n, "there")
	check(t, err)
	t.Cleanup(func() { check(t, c.Close()) })
	_, err = c.Write([]byte("x"))
	check(t, err)
	_, err = io.ReadFull(c, make([]byte, 1))
	check(t, err)
	return c
}

// A process that is killed says nothing. Who waits for it hears so all the same.
func TestAProcessThatIsKilledBreaksItsConnections(t *testing.T) {
	for _, lane := range []soft.Lanes{soft.SharedMemory, soft.TCP} {
		t.Run(lane.String(), func(t *testing.T) { killPeer(t, lane) })
	}
}

func killPeer(t *testing.T, lane soft.Lanes) {
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	check(t, err)
	check(t, child.Start())
	t.Cleanup(func() { _ = child.Wait() }) // it was killed
	defer func() { _ = child.Process.Kill() }()
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("the child is not ready")
	}
	reads, writes := greeted(t, newNodeOn(t, dir, lane)), greeted(t, newNodeOn(t, dir, lane)) // nothing is under way but what they do
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := reads.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read: %v", err)
		}
	})
	all.Go(func() {
		if _, err := writes.Write(make([]byte, 4*window)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("write: %v", err)
		}
	})
	full(t, writes)
	check(t, child.Process.Kill())
	all.Wait()
}
