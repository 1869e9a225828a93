package ripc

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs/driver"
)

// held is what a program has of a node: a message, and buffers of their own and in a block with others.
type held struct {
	message      *Message
	large, small *Buffer
}

var heldText = bytes.Repeat([]byte("it is still here "), 100)

// hold makes a node's service receive a message, takes buffers, and closes the node.
func hold(t testing.TB, nic func() (driver.Device, error)) (server *Node, h held) {
	d := newDirectory()
	inner, err := nic()
	check(t, err)
	server, client := newNodeOn(t, inner, d, Config{}), newNode(t, d, Config{})
	s, err := server.Register(patient(t), "there")
	check(t, err)
	check(t, client.Send(patient(t), s.ID(), heldText))
	h.message, err = s.Receive(patient(t))
	check(t, err)
	h.large, err = server.Alloc(3 << 20)
	check(t, err)
	h.small, err = server.Alloc(5)
	check(t, err)
	copy(h.large.Bytes()[3<<20-5:], "large")
	copy(h.small.Bytes(), "small")
	check(t, client.Close())
	check(t, server.Close())
	check(t, server.config.Device.Close())
	return server, h
}

func (h *held) release() {
	h.message.Release()
	h.large.Release()
	h.small.Release()
}

// What a program has of a node that somebody closes can still be looked at.
func TestMessagesAndBuffersOutliveTheirNode(t *testing.T) {
	_, h := hold(t, newNIC)
	runtime.GC()
	if !bytes.Equal(h.message.Bytes(), heldText) || string(h.large.Bytes()[3<<20-5:]) != "large" || string(h.small.Bytes()) != "small" {
		t.Error("there are other bytes than before")
	}
	h.small.Bytes()[0] = 'S' // harms nobody
	h.release()
}

// It is freed when the program has given it up.
func TestWhatOutlivesANodeIsFreed(t *testing.T) {
	before := mappings(t)
	server, h := hold(t, func() (driver.Device, error) { return soft.New(soft.Config{Lanes: soft.AllLanes}) })
	if n := mappings(t) - before; n != 3 {
		t.Errorf("%d blocks have stayed, of a message and two buffers", n)
	}
	h.release()
	h = held{}
	for end := time.Now().Add(20 * time.Second); mappings(t) > before; time.Sleep(time.Millisecond) {
		if runtime.GC(); time.Now().After(end) {
			t.Fatalf("%d blocks are still there", mappings(t)-before)
		}
	}
	runtime.KeepAlive(server) // the program still has that, and it holds nothing
}

// mappings is how many blocks of memory that other processes could map this one has.
func mappings(t testing.TB) int {
	list, err := os.ReadFile("/proc/self/maps")
	check(t, err)
	return strings.Count(string(list), "weft-memory")
}
