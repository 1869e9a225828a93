package main

import (
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/oneport"
	"github.com/weft-fabric/weft/push"
)

// stranger is one way to speak the protocol wrongly. Whatever it is answered, it reads it, for a moment.
type stranger func(c net.Conn, random *rand.Rand)

var strangers = []stranger{
	func(c net.Conn, random *rand.Rand) { write(c, junk(random, 100)) },
	func(net.Conn, *rand.Rand) {}, // it says nothing
	func(c net.Conn, random *rand.Rand) { write(c, oneport.Preface("control")[:random.IntN(32)]) },
	func(c net.Conn, random *rand.Rand) { write(c, oneport.Preface("control"), junk(random, 4000)) },
	func(c net.Conn, random *rand.Rand) { write(c, oneport.Preface("control-nic"), junk(random, 4000)) },
	func(c net.Conn, random *rand.Rand) { write(c, oneport.Preface("data/0123456789abcdef"), junk(random, 4000)) },
	func(c net.Conn, _ *rand.Rand) { write(c, []byte("GET / HTTP/1.1\r\nHost: weft\r\n\r\n")) },
	unnamed("control"),
	unnamed("control-nic"),
	func(c net.Conn, random *rand.Rand) { // the head of a record of TLS, and then something else
		write(c, oneport.Preface("control"), []byte{22, 3, 1, byte(random.IntN(64)), byte(random.IntN(256))}, junk(random, 20000))
	},
}

// unnamed shows no certificate, and does as if that were in order.
func unnamed(name string) stranger {
	return func(c net.Conn, random *rand.Rand) {
		write(c, oneport.Preface(name))
		over := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
		if over.Handshake() == nil {
			write(over, junk(random, 1000))
			_, _ = io.Copy(io.Discard, over)
		}
	}
}

// write says what it can: the other end may have hung up.
func write(c net.Conn, all ...[]byte) {
	for _, part := range all {
		_, _ = c.Write(part)
	}
}

func junk(random *rand.Rand, most int) []byte {
	b := make([]byte, random.IntN(most))
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// visit dials an agent once.
func (s stranger) visit(address string, random *rand.Rand, patience time.Duration) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	s(c, random)
	_, _ = io.Copy(io.Discard, c)
}

// Whoever talks to agents meanwhile, and whatever they are told: a push comes to its end, and agents live.
func TestPushAmongStrangers(t *testing.T) {
	b := newBed(t, 3)
	source := noise(t, "file", 4<<20)
	var visits sync.WaitGroup
	over := make(chan struct{})
	for i, s := range strangers {
		visits.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), uint64(i)))
			for {
				select {
				case <-over:
					return
				default:
					s.visit(b.agents[random.IntN(3)].address, random, 50*time.Millisecond)
				}
			}
		})
	}
	for range long(1, 20) {
		o := b.start(source, ".").end(push.ExitOK)
		b.check(o, source)
		b.whole(source, b.agents...)
		if o.Repairs > 0 {
			t.Errorf("%d repairs", o.Repairs)
		}
		for _, a := range b.agents {
			a.clear()
		}
	}
	close(over)
	visits.Wait()
	b.finish(source)
}

// Those who know which push is under way, and dial its own door.
func TestPushWithStrangersAtItsDoor(t *testing.T) {
	for _, plain := range []string{"--plain=false", "--plain"} {
		t.Run(plain, func(t *testing.T) {
			b := newBed(t, 2)
			source := noise(t, "file", 4<<20)
			r := b.start(source, ".", plain)
			b.agents[0].await(4)
			door := "data/" + b.agents[0].pushID()[:16]
			random := rand.New(rand.NewPCG(1, 2))
			var visits sync.WaitGroup
			for range 20 {
				for _, s := range []stranger{unnamed(door), func(c net.Conn, _ *rand.Rand) { write(c, oneport.Preface(door), junk(rand.New(rand.NewPCG(3, 4)), 4000)) }} {
					address, seed := b.agents[random.IntN(2)].address, random.Uint64()
					visits.Go(func() { s.visit(address, rand.New(rand.NewPCG(seed, 1)), 100*time.Millisecond) })
				}
			}
			visits.Wait()
			o := r.end(push.ExitOK)
			b.check(o, source)
			b.whole(source, b.agents...)
		})
	}
}
