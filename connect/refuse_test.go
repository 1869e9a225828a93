package connect

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs"
)

// head makes the head of a greeting.
func head(version uint16, length uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16([]byte(magic), version), length)
}

func TestVersionsDiffer(t *testing.T) {
	other := append(head(7, 3), "abc"...) // a body that this version does not understand
	seen := newRefusals()
	l := listenFor(t, "127.0.0.1:0", Options{OnRefused: func(err error) { seen <- err }})
	conn := rawDial(t, l)
	if _, err := conn.Write(other); err != nil {
		t.Fatal(err)
	}
	if _, err := readGreeting(conn); err != nil {
		t.Errorf("the client cannot read the listener's greeting: %v", err)
	}
	conn.Close()
	checkVersionError(t, seen.next(t))

	address := rawListen(t, func(conn net.Conn) {
		_, _ = conn.Write(other)
		_, _ = io.Copy(io.Discard, conn)
	})
	_, err := Dial(testContext(t), address, Options{})
	checkVersionError(t, err)
}

func checkVersionError(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrVersion) {
		t.Errorf("another version gave %v", err)
	}
	mustContain(t, err, "version 1 of the exchange", "the peer version 7", "same release")
}

func TestNoCommonProvider(t *testing.T) {
	seen := newRefusals()
	l := listenFor(t, "127.0.0.1:0", Options{Name: "alice", OnRefused: func(err error) { seen <- err },
		Offers: []Offer{{Provider: "shm", Reach: SameHost}, {Provider: "tcp"}}})
	_, err := Dial(testContext(t), l.Address(), Options{Name: "bob", Offers: []Offer{{Provider: "ibv"}}})
	for _, err := range []error{err, seen.next(t)} {
		if !errors.Is(err, ErrNoCommonProvider) {
			t.Errorf("nothing in common gave %v", err)
		}
		mustContain(t, err, "shm (same host and user only), tcp", "ibv")
	}
}

func TestBadGreetings(t *testing.T) {
	good := (&greeting{offers: []Offer{{Provider: "tcp"}}}).encode()
	for want, sent := range map[string][]byte{
		"begins with \"\\x00\\x00\\x00\\x00\"": make([]byte, 64),
		"that is HTTP":                         []byte("GET / HTTP/1.1\r\n\r\n"),
		"that is TLS":                          {0x16, 3, 1, 2, 0, 1},
		"closed the session in the middle":     good[:len(good)-1],
		"closed the session":                   nil,
		"a greeting of 4294967295 bytes":       head(version, 1<<32-1),
		"the name needs 2 bytes":               head(version, 0),
		"3 bytes too many":                     withBody(append((&greeting{}).appendBody(nil), 1, 2, 3)),
		"not printable":                        (&greeting{identity: Identity{Name: "\x1b[31m"}}).encode(),
		"has 129 bytes, allowed are 128":       (&greeting{identity: Identity{Host: strings.Repeat("h", maxText+1)}}).encode(),
		"17 offers, allowed are 16":            (&greeting{offers: make([]Offer, maxOffers+1)}).encode(),
		"the provider has no name":             (&greeting{offers: make([]Offer, 1)}).encode(),
		"Reach(3) is unknown":                  (&greeting{offers: []Offer{{Provider: "x", Reach: 3}}}).encode(),
		"out of range":                         (&greeting{offers: []Offer{{Provider: "x", PeerTimeout: -1}}}).encode(),
		"offers announced, but only 0":         announceOffers(),
	} {
		t.Run(want, func(t *testing.T) { testBadGreeting(t, sent, want) })
	}
}

func withBody(body []byte) []byte { return append(head(version, uint32(len(body))), body...) }

func announceOffers() []byte {
	body := (&greeting{}).appendBody(nil)
	body[len(body)-1] = 1
	return withBody(body)
}

// testBadGreeting sends it to a listener, which must go on, and to a dialler.
func testBadGreeting(t *testing.T, sent []byte, want string) {
	seen := newRefusals()
	l := listenFor(t, "127.0.0.1:0", Options{Timeout: patience, OnRefused: func(err error) { seen <- err }})
	send := func(conn net.Conn) {
		_, _ = conn.Write(sent)
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
	}
	send(rawDial(t, l))
	mustContain(t, seen.next(t), want)
	meetAt(t, l, Options{})

	_, err := Dial(testContext(t), rawListen(t, send), Options{})
	mustContain(t, err, want)
	if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrPeerGone) {
		t.Errorf("%v is neither malformed nor gone", err)
	}
}

func TestBadFrames(t *testing.T) {
	frame := func(kind byte, round, length uint32, body string) []byte {
		b := binary.BigEndian.AppendUint32([]byte{kind}, round)
		return append(binary.BigEndian.AppendUint32(b, length), body...)
	}
	for want, sent := range map[string][]byte{
		"a frame of kind 9":                      frame(9, 1, 0, ""),
		"a card of 4294967295 bytes":             frame(kindCard, 1, 1<<32-1, ""),
		"in round 1, the peer in round 2":        frame(kindCard, 2, 0, ""),
		"closed the session in the middle":       frame(kindCard, 1, 100, "abc"),
		"the step needs 2 bytes":                 frame(kindCard, 1, 0, ""),
		"the step needs 9 bytes, but 3 are left": frame(kindCard, 1, 5, "\x00\x09abc"),
		"4294967295 addresses, allowed":          frame(kindCard, 1, 6, "\x00\x00\xff\xff\xff\xff"),
		"256 addresses announced":                frame(kindCard, 1, 6, "\x00\x00\x00\x00\x01\x00"),
		"256 spans announced":                    frame(kindCard, 1, 10, "\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00"),
		"address 0 has 0 bytes":                  cardFrame(1, &Card{Addresses: []verbs.Address{""}}),
		"reaches beyond the end of memory":       cardFrame(1, &Card{Spans: []verbs.RemoteSpan{{Address: 2, Length: 1<<64 - 1}}}),
		"the step \"\\a\" is not printable":      cardFrame(1, &Card{Step: "\a"}),
		"a reason of 9999 bytes":                 frame(kindGoodbye, 0, 9999, ""),
		"the peer gave up: because":              frame(kindGoodbye, 0, 7, "because"),
		"the peer gave up: a [m":                 frame(kindGoodbye, 0, 4, "a\x1b[m"),
	} {
		t.Run(want, func(t *testing.T) { testBadFrame(t, sent, want) })
	}
}

// testBadFrame sends it in a swap. A peer that was at fault is told.
func testBadFrame(t *testing.T, sent []byte, want string) {
	s, conn := rawPeer(t)
	heard := make(chan []byte, 1)
	go func() {
		_, _ = conn.Write(sent)
		_ = conn.(*net.TCPConn).CloseWrite()
		all, _ := io.ReadAll(conn)
		heard <- all
	}()
	_, err := s.Swap(testContext(t), Card{})
	mustContain(t, err, want)
	if told := bytes.Contains(<-heard, []byte(want)); told != errors.Is(err, ErrMalformed) {
		t.Errorf("%v: the peer was told: %v", err, told)
	}
}

// TestSilence: at every step, a peer that says nothing, or too little, is given up.
func TestSilence(t *testing.T) {
	short := Options{Timeout: 50 * time.Millisecond}
	for name, sent := range map[string]string{"nothing": "", "half a head": "wef", "no body": string(head(version, 99))} {
		t.Run("greeting with "+name, func(t *testing.T) {
			address := rawListen(t, func(conn net.Conn) {
				_, _ = io.WriteString(conn, sent)
				_, _ = io.Copy(io.Discard, conn)
			})
			_, err := Dial(context.Background(), address, short)
			checkSilent(t, err)
		})
	}
	t.Run("client", func(t *testing.T) {
		seen := newRefusals()
		options := short
		options.OnRefused = func(err error) { seen <- err }
		rawDial(t, listenFor(t, "127.0.0.1:0", options))
		checkSilent(t, seen.next(t))
	})
	t.Run("swap", func(t *testing.T) {
		a, b := meet(t, "127.0.0.1:0", short, short)
		_, err := a.Swap(context.Background(), Card{})
		checkSilent(t, err)
		if _, err := b.Swap(testContext(t), Card{}); err != nil && !errors.Is(err, ErrPeerGone) {
			t.Errorf("the peer of one that gave up: %v", err)
		}
	})
	t.Run("a swap that nobody reads", func(t *testing.T) {
		s, conn := rawPeer(t)
		large := Card{Spans: make([]verbs.RemoteSpan, MaxSpans)}
		_, _ = conn.Write(cardFrame(1, &Card{}))
		ctx, cancel := context.WithTimeout(context.Background(), short.Timeout)
		defer cancel()
		_ = conn.(*net.TCPConn).SetReadBuffer(1 << 12)
		_ = s.wire.conn.(*net.TCPConn).SetWriteBuffer(1 << 12)
		_, err := s.Swap(ctx, large)
		checkSilent(t, err)
	})
}

func checkSilent(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrSilent) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silence gave %v", err)
	}
}
