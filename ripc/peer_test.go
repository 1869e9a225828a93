package ripc

import (
	"testing"

	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
)

// A message that comes on a link which was left, behind the new one, is still from whom the peer has told of there.
func TestServicesAreKnownOnLinksThatWereLeft(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	sink, err := a.Register(patient(t), "sink")
	check(t, err)
	from, echo := echo(t, b, "from"), echo(t, b, "echo")
	check(t, from.Send(patient(t), sink.ID(), []byte("first")))
	m, err := sink.Receive(patient(t))
	check(t, err)
	m.Release()
	var old *link.Link
	check(t, b.on(func() {
		old = b.office.peers[a.id].link
		b.office.peers[a.id].part()
	}))
	check(t, a.on(func() { a.office.peers[b.id].part() }))
	m, err = a.Call(patient(t), echo.ID(), []byte("by another link"))
	check(t, err)
	m.Release()
	late := &link.Outgoing{Owner: nobody{}, Items: []link.Piece{{Bytes: []byte("late")}}}
	late.Head = wire.Head{Type: wire.Send, From: from.ID(), To: sink.ID()}
	check(t, b.on(func() { check(t, old.Send(late)) }))
	m, err = sink.Receive(patient(t))
	check(t, err)
	if string(m.Bytes()) != "late" || m.From() != from.ID() {
		t.Errorf("%q from %v", m.Bytes(), m.From())
	}
	m.Release()
}
