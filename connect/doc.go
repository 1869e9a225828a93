// Package connect is what two ends need before their queue pairs can talk: one exchange, over TCP or a Unix socket, of
// who they are, which providers they have, and then, as often as they like, of addresses, remote spans and notes.
//
// One end listens, the other dials. The greeting agrees on a provider: the first of the listener's offers that the other
// end makes too and that reaches it. Both ends come to the same answer. Then each opens its device, and Swap carries a
// [Card] both ways at once:
//
//	session, err := connect.Dial(ctx, "host:7471", connect.Options{Name: "perf", Offers: offers})
//	if err != nil {
//		return err
//	}
//	defer session.Close()
//	end, err := connect.OpenEnd(open(session.Agreed().Provider), connect.EndConfig{Pairs: 8, Memory: 1 << 20})
//	…
//	theirs, err := end.Join(ctx, session, connect.Card{Spans: spans, Note: parameters}) // all queue pairs are Ready
//	…
//	theirs, err = session.Swap(ctx, connect.Card{Step: "done", Note: results}) // also a barrier
//
// # What is promised
//
// Every step ends: at the deadline of its context, or after Options.Timeout if that has none. A step that waits for long
// work at the peer is given a context with a deadline. A step that fails ends the session, and every later step fails
// with the same error. A silent or slow client never keeps a Listener from accepting others.
//
// Every length has a limit (MaxAddresses, MaxSpans, MaxNote, …), everything that arrives is checked, and memory is taken
// only as bytes arrive. Text from a peer is printable.
//
// What a peer says of itself is a claim. On a Unix socket the kernel knows better (Session.Credentials), with TLS the
// certificates do (Session.TLS). Without TLS a Listener stays on loopback unless Options.Plain says otherwise. A Unix
// socket is as open as the permissions of its directory.
//
// # On the wire
//
// All numbers are big-endian. Texts and bytes have their length in front. Both ends send a greeting at once:
//
//	"weft" · version uint16 · length uint32 · identity, place, offers
//
// This head stays as it is in every version, so that ends of different versions can say so. What follows are frames:
//
//	kind uint8 · round uint32 · length uint32 · card (kind 1), or why the sender gives up (kind 2)
package connect
