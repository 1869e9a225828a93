// Package ripc sends messages to services, not machines (libRIPC).
//
// A program opens a [Node], registers services, and sends messages from one to another. Where a service runs, it need not know:
// the node finds it, makes a link to its process on first use, and finds it again when it has moved.
//
//	node, err := ripc.Open(ripc.Config{Device: device, Resolver: resolver})
//	…
//	echo, err := node.Register(ctx, "echo")
//	for m, err := range echo.Messages(ctx) {
//		…
//		err = m.Answer(ctx, m.Items()...)
//		m.Release()
//	}
//
// and elsewhere
//
//	answer, err := node.Call(ctx, ripc.Name("echo"), []byte("hello"))
//
// # Short and long
//
// What is sent in a message is short: head and payload travel at once, into a receive that the other process has ready. What does
// not fit is an error, never split. Anything larger is lent: it stays where it is, in a [Buffer], the message describes it, and the
// receiver reads it when and where it likes ([Message.Pull]). A call may lend memory for the answer, too (Request.Return); it is
// the service's choice to use it.
//
// # What is copied
//
// Bytes of a Buffer are sent from where they are, if there are at least 256 of them; other bytes are copied once, behind the head of the
// message. At the receiver they lie where the NIC has put them, until [Message.Release]. What is pulled or returned is not copied
// by this package at all.
//
// # What is promised
//
// A message is delivered at most once, and messages from one process to another that need no retry arrive in the order in which they
// were sent. A sender waits while the receiver is slow. When a process ends, whoever waits for it hears so: a message that was
// surely not delivered is sent again, to wherever the service is by then; one of which nobody knows is an error (ErrLost),
// unless it is marked Idempotent.
package ripc
