package main

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
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
	func(c net.Conn, random *rand.Rand) {
		write(c, oneport.Preface("data/0123456789abcdef"), junk(random, 4000))
	},
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
	t.Parallel()
	f := newFleet(t, 3, 2<<20)
	var visits sync.WaitGroup
	over := make(chan struct{})
	for i, s := range strangers {
		visits.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			for {
				select {
				case <-over:
					return
				default:
					s.visit(f.agents[random.IntN(3)].address, random, 50*time.Millisecond)
				}
			}
		})
	}
	for range long(1, 20) {
		r := f.slowly().end(push.ExitOK)
		f.clean(r)
		if r.Repairs > 0 {
			t.Errorf("%d repairs", r.Repairs)
		}
		for _, a := range f.agents {
			a.clear(t)
		}
	}
	close(over)
	visits.Wait()
	f.clean(f.push().end(push.ExitOK))
	f.stopAll()
}

// stopAll has all agents end, and end well.
func (f *fleet) stopAll() {
	f.t.Helper()
	for _, a := range f.agents {
		f.stop(a)
	}
}

// clear removes what pushes have brought.
func (a *fleetAgent) clear(t *testing.T) {
	t.Helper()
	tops, err := os.ReadDir(a.root)
	if err != nil {
		t.Fatal(err)
	}
	for _, top := range tops {
		if top.Name() == ".weft" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(a.root, top.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// Those who know which push is under way, and dial its own door.
func TestPushWithStrangersAtItsDoor(t *testing.T) {
	t.Parallel()
	for _, plain := range []string{"--plain=false", "--plain"} {
		t.Run(plain, func(t *testing.T) {
			f := newFleet(t, 2, 2<<20)
			u := f.slowly(plain)
			f.await(u, moment{"early", begins("send"), 10}, f.agents[0])
			door := "data/" + pushAt(t, f.agents[0])[:16]
			var visits sync.WaitGroup
			for i := range 20 {
				for _, s := range []stranger{unnamed(door), func(c net.Conn, random *rand.Rand) { write(c, oneport.Preface(door), junk(random, 4000)) }} {
					visits.Go(func() { s.visit(f.agents[i%2].address, rand.New(rand.NewPCG(uint64(i), 2)), 100*time.Millisecond) })
				}
			}
			visits.Wait()
			f.clean(u.end(push.ExitOK))
			f.stopAll()
		})
	}
}

// pushAt is the push of an agent's only partial.
func pushAt(t *testing.T, a *fleetAgent) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(partialsOf(t, a.root)[0], "info"))
	if err != nil {
		t.Fatal(err)
	}
	var info struct{ ID string }
	if err := json.Unmarshal(text, &info); err != nil {
		t.Fatal(err)
	}
	return info.ID
}
