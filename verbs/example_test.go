package verbs_test

import (
	"fmt"
	"log"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
)

// end is one side of a connection: a device, and what is needed to use it.
type end struct {
	device *verbs.Device
	domain *verbs.Domain
	queue  *verbs.CompletionQueue
	memory *verbs.Memory
	pair   *verbs.QueuePair
}

// open opens an end whose peer may do what access says.
func open(access verbs.Access) *end {
	provider, err := soft.New(soft.Config{})
	check(err)
	e := &end{}
	e.device, err = verbs.Open(provider)
	check(err)
	e.domain, err = e.device.NewDomain()
	check(err)
	e.queue, err = e.device.NewCompletionQueue(256)
	check(err)
	e.memory, err = e.domain.Alloc(4096, verbs.RemoteAll)
	check(err)
	e.pair, err = e.domain.NewQueuePair(verbs.QueueConfig{Completions: e.queue, Access: access})
	check(err)
	return e
}

// next polls until the next completion is there.
func (e *end) next() verbs.Completion {
	var got [1]verbs.Completion
	for {
		n, err := e.queue.Poll(got[:])
		check(err)
		if n == 1 {
			return got[0]
		}
	}
}

// connect connects two ends. Their addresses would travel by some other way, if they were on two hosts.
func connect(a, b *end) {
	check(a.pair.Connect(0, b.pair.Address()))
	check(b.pair.Connect(0, a.pair.Address()))
	a.next()
	b.next()
}

// close closes children before parents.
func (e *end) close() {
	check(e.pair.Close())
	check(e.memory.Close())
	check(e.queue.Close())
	check(e.domain.Close())
	check(e.device.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A one-sided write: the bytes appear in the target's memory, and the target does nothing.
func Example_write() {
	target, writer := open(verbs.RemoteWrite), open(0)
	defer target.close()
	defer writer.close()
	connect(target, writer)

	remote := target.memory.Remote(128, 64) // a capability on 64 bytes, given to the writer

	copy(writer.memory.Bytes(), "written from afar")
	check(writer.pair.Write(7, writer.memory.Span(0, 17), remote, 0))
	done := writer.next() // Poll flushes what is staged

	fmt.Println(done.Op, done.Tag, done.Status)
	fmt.Printf("%s\n", target.memory.Bytes()[128:145])
	// Output:
	// Write 7 OK
	// written from afar
}

// A send takes the next receive that the peer has posted. Both sides get a completion.
func Example_send() {
	sender, receiver := open(0), open(0)
	defer sender.close()
	defer receiver.close()
	connect(sender, receiver)

	check(receiver.pair.Receive(1, receiver.memory.Span(0, 64)))
	check(receiver.queue.Flush())

	copy(sender.memory.Bytes(), "a message")
	check(sender.pair.SendImm(2, sender.memory.Span(0, 9), 2024, 0))
	sent, received := sender.next(), receiver.next()

	fmt.Println(sent.Op, sent.Status)
	fmt.Printf("%v of %d bytes with %d: %s\n", received.Op, received.Bytes, received.Imm, receiver.memory.Bytes()[:received.Bytes])
	// Output:
	// SendImm OK
	// ReceiveImm of 9 bytes with 2024: a message
}

// An atomic changes a word of the peer's in one indivisible step, and brings its old value back.
func Example_atomic() {
	owner, user := open(verbs.RemoteAtomic), open(0)
	defer owner.close()
	defer user.close()
	connect(owner, user)

	owner.memory.Store64(0, 100)
	counter, old := owner.memory.Remote(0, 8), user.memory.Span(0, 8)
	check(user.pair.FetchAdd(1, old, counter, 11, 0))
	user.next()
	fmt.Println("it was", user.memory.Load64(0))

	check(user.pair.CompareSwap(2, old, counter, 111, 5, 0))
	user.next()
	fmt.Println("it was", user.memory.Load64(0), "and is", owner.memory.Load64(0))
	// Output:
	// it was 100
	// it was 111 and is 5
}

// A permission that is revoked: when the revocation has completed, no write can land any more. The refused one puts both
// ends in Error; a leader in Mu learns in this way that it was deposed.
func Example_revoke() {
	target, writer := open(verbs.RemoteWrite), open(0)
	defer target.close()
	defer writer.close()
	connect(target, writer)

	check(target.pair.SetAccess(1, 0))
	fmt.Println(target.next().Op, "completed")

	check(writer.pair.Write(2, writer.memory.Span(0, 8), target.memory.Remote(0, 8), 0))
	refused := writer.next()
	fmt.Println("refused:", refused.Status.Refused())
	fmt.Println("the writer's end is in", writer.pair.State())
	// Output:
	// QueueAccess completed
	// refused: true
	// the writer's end is in Error
}
