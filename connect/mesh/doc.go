// Package mesh brings the members of a list together: every process has a session (package connect) with every other,
// and all of them exchange cards and notes at once. It is what a protocol with more than two ends needs before its queue
// pairs can talk, and after one of its members has died.
//
// Everybody listens at its own address, dials those with a smaller index, and accepts the others:
//
//	m, err := mesh.Join(ctx, mesh.Config{Self: 2, Members: []string{"h0:7471", "h1:7471", "h2:7471"}, Options: options})
//	if err != nil {
//		return err // names whoever did not come
//	}
//	defer m.Close()
//	device := open(m.Common()[0])                          // the same provider at all members
//	theirs, err := m.Exchange(ctx, "parameters", notes)    // a note for each, a note from each
//
// # Which provider
//
// Agreed says what two members have agreed on, and may differ from pair to pair: shared memory with a neighbour, TCP with
// another host. Common lists what all members can use with all others, the same list everywhere, the best first. A program
// takes the first. If that is a lane of a device with several (provider/soft has shared memory and TCP), it opens the
// device with all of them, and each connection takes the best.
//
// # What is promised
//
// Join ends with everybody together or with an error that names the missing, at every member, when the context ends at the
// latest. A stranger that connects is turned away and disturbs nobody.
//
// Swap, Exchange and Barrier involve all members, and all must call the same with the same word. What one end gives another
// arrives whole or not at all. A member that dies, or stays away longer than the context allows, is named in the error
// (Failed lists such members), and the session with it is over; the sessions with the others go on.
//
// # When a member has died
//
// Whoever notices, here or in a protocol above, calls Without, and goes on with the mesh that it returns. Indexes stay the
// same. Those that do not know yet learn of it in the next or present call, which fails with ErrRegroup and costs no session:
// then they call Without too. It does not matter what each was doing, or if another member dies meanwhile.
//
//	if _, err = m.Exchange(ctx, "results", notes); err != nil {
//		m, err = m.Without(ctx, mesh.Failed(err)...)
//	}
//
// All methods may be called from any goroutine, but one at a time may swap with a member.
package mesh
