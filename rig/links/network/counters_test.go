package network

import (
	"os/exec"
	"slices"
	"testing"
)

const devices = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
 port0:    1006      13    0    0    0     0          0         0     2636      30    0    0    0     0       0          0
 port1:    1076      14    0    0    0     0          0         0     7000      29    0    0    0     0       0          0
`

func TestParseSent(t *testing.T) {
	got, err := parseSent(devices, 2)
	if want := []uint64{2636, 7000}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if _, err := parseSent(devices, 3); err == nil {
		t.Error("a port was not there, and nobody said so")
	}
}

func FuzzParseSent(f *testing.F) {
	f.Add(devices, uint8(2))
	f.Fuzz(func(t *testing.T, table string, ports uint8) {
		if sent, err := parseSent(table, int(ports)); err == nil && len(sent) != int(ports) {
			t.Errorf("%d counters for %d ports", len(sent), ports)
		}
	})
}

// TestReceived sends nothing but a question, and sees it arrive.
func TestReceived(t *testing.T) {
	n := up(t, Config{Racks: []int{2}, Rate: "200mbit"})
	before, err := n.Received()
	if err != nil {
		t.Fatal(err)
	}
	run(t, n, 0, "bash", "-c", "echo a datagram > /dev/udp/"+n.Address(1)+"/9")
	after, err := n.Received()
	if err != nil || after[1] <= before[1] {
		t.Errorf("the second host had received %d bytes, and now %d (%v)", before[1], after[1], err)
	}
}

const counters = `Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: RtoAlgorithm ActiveOpens PassiveOpens
Tcp: 1 5 17
`

func TestParseAccepted(t *testing.T) {
	if got, err := parseAccepted(counters); got != 17 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	for _, bad := range []string{"", "Tcp: PassiveOpens\n", "Tcp: A PassiveOpens\nTcp: 1\n", "Tcp: A PassiveOpens\nTcp: 1 x\n"} {
		if got, err := parseAccepted(bad); err == nil {
			t.Errorf("%q has %d", bad, got)
		}
	}
}

func FuzzParseAccepted(f *testing.F) {
	f.Add(counters)
	f.Fuzz(func(_ *testing.T, table string) { _, _ = parseAccepted(table) })
}

// TestAccepted makes one connection, and sees it counted where it was accepted.
func TestAccepted(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	n := up(t, Config{Racks: []int{2}, Rate: "200mbit"})
	run(t, n, 1, "python3", "-c", "import socket; s=socket.create_server(('127.0.0.1',9)); c=socket.create_connection(('127.0.0.1',9)); s.accept()")
	if got, err := n.Accepted(1); got != 1 || err != nil {
		t.Errorf("%d connections were accepted, %v", got, err)
	}
	if got, err := n.Accepted(0); got != 0 || err != nil {
		t.Errorf("%d connections were accepted elsewhere, %v", got, err)
	}
}
