package ibv_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs/verbstest"
)

// This file is the suite between two machines with a wire. The first runs the tests; the second lends it processes.

// relayVariable is set in the environment of a process that stands for one on the other machine.
const relayVariable = "WEFT_IBV_RELAY"

const lendingPort = "4793"

// The whole suite, with every other end on the other machine. There they cannot be stopped, but killed: see lend.
func TestWireConformance(t *testing.T) {
	needDevice(t)
	if os.Getenv("WEFT_MACHINES") != "2" {
		t.Skip("it needs two machines: make test-roce runs this there, too")
	}
	if os.Getenv("WEFT_MACHINE") == "2" {
		lend(t)
		return
	}
	lead := borrow(t)
	can := budget(onTheWire)
	near, far := verbstest.Processes(child, can), verbstest.Processes(relay, can)
	defer func() {
		if err := errors.Join(near.Close(), far.Close(), lead.Close()); err != nil {
			t.Error(err)
		}
	}()
	verbstest.Run(t, func(tb verbstest.TB) verbstest.Lab {
		return &wireLab{labs: [2]verbstest.Lab{near.Lab(tb), far.Lab(tb)}, homes: make(map[string]int)}
	}, verbstest.Options{})
}

// wireLab has its first end on this machine, the second on the other, and so on.
type wireLab struct {
	labs  [2]verbstest.Lab
	homes map[string]int // of ends, by name
	next  int
}

func (l *wireLab) Capabilities() verbstest.Capabilities { return l.labs[0].Capabilities() }

func (l *wireLab) Open(name string, config verbstest.EndConfig) (verbstest.End, error) {
	home, ok := l.homes[config.Beside]
	if !ok {
		home, l.next = l.next, 1-l.next
	}
	l.homes[name] = home
	return l.labs[home].Open(name, config)
}

func (l *wireLab) Close() error { return errors.Join(l.labs[0].Close(), l.labs[1].Close()) }

// relay is a command that stands for a child on the other machine.
func relay() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), relayVariable+"="+net.JoinHostPort(os.Getenv("WEFT_PEER"), lendingPort))
	cmd.Stderr = os.Stderr
	return cmd
}

// runRelay is what such a command does: it carries bytes to and fro until one side ends.
func runRelay(address string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	over := make(chan error, 2)
	go func() { _, err := io.Copy(conn, os.Stdin); over <- err }()
	go func() { _, err := io.Copy(os.Stdout, conn); over <- err }()
	return errors.Join(<-over, conn.Close())
}

// borrow tells the other machine that we are here. When the connection ends, the other stops lending.
func borrow(t *testing.T) net.Conn {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		conn, err := net.Dial("tcp", net.JoinHostPort(os.Getenv("WEFT_PEER"), lendingPort))
		if err == nil {
			return conn
		}
		if time.Now().After(deadline) {
			t.Fatalf("the other machine does not lend its processes: %v", err)
		}
	}
}

// lend starts a child for each connection, until the first connection ends.
func lend(t *testing.T) {
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Getenv("WEFT_ADDRESS"), lendingPort))
	if err != nil {
		t.Fatal(err)
	}
	lead, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		_, _ = io.Copy(io.Discard, lead) // its end is what counts
		_ = errors.Join(lead.Close(), listener.Close())
	})
	for lent := 0; ; lent++ {
		conn, err := listener.Accept()
		if err != nil {
			running.Wait()
			t.Logf("lent %d processes", lent)
			return
		}
		running.Go(func() { lendOne(t, conn) })
	}
}

// lendOne has a child serve a connection. When that ends the child is killed, if it has not ended by itself: so whoever
// kills the relay kills the child.
func lendOne(t *testing.T, conn net.Conn) {
	defer conn.Close()
	cmd := child()
	cmd.Stdout = conn
	to, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(fmt.Errorf("lend a process: %w", err))
		return
	}
	var carrying sync.WaitGroup
	carrying.Go(func() {
		_, _ = io.Copy(to, conn)
		_ = cmd.Process.Kill()
	})
	_ = cmd.Wait() // it was killed, or the other machine has heard how it ended
	_ = conn.Close()
	carrying.Wait()
}
