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
// Package here opens all that in one call, on a software NIC; its examples are the shortest. [HandlerOf] and [Function] make services of Go
// functions.
//
// # Short and long
//
// What is sent in a message is short: head and payload travel at once, into a receive that the other process has ready. What does
// not fit is an error, never split. Anything larger is lent: it stays where it is, in a [Buffer], the message describes it, and the
// receiver reads it when and where it likes ([Message.Pull]). A call may lend memory for the answer, too (Request.Return); it is
// the service's choice to use it.
//
// # What a slow service holds up
//
// A message holds a receive from when it comes until [Message.Release]: while it waits for somebody to receive it, and while a handler has
// it. A service that holds many has those wait who send to it, and nobody else: of the messages of one process it gets about
// Config.Window, 64 if that says nothing, and never more than twice as many, until it has released some. What waits longer than its
// context fails: "the message was not sent". Answers do not wait, and Stats.Waiting says how much does.
//
// All that one process sends to another takes the same link, though, and receives come to an end. One process may have an eighth of
// Config.MaxSlots here beyond the window of its link, and all together half of it. When many services are slow, or MaxSlots is small, and
// those are used up, what is held takes the places of the window; and when that has none left, everything else that the process sends here
// waits as well: calls of other services, and connections of package stream.
//
// So receive from every service that is registered, for as long as it is. Serve with as many handlers as there may be calls that wait for
// something. Release a message when it was answered, or is no call and was copied. If many services are slow, or Config.Window is more than a
// sixteenth of Config.MaxSlots, give their node a larger MaxSlots, or the slow ones a node of their own.
//
// # Failures that callers tell apart
//
// A handler's error is a text for people: a [FailedError]. What callers act on belongs into the answer, as a field of the result of a
// Function or as an item; the handler returns nil then. Package here has an example of it, Outcomes.
//
// # What is copied
//
// Bytes of a Buffer are sent from where they are, if there are at least 256 of them; other bytes are copied once, behind the head of the
// message. At the receiver they lie where the NIC has put them, until [Message.Release]; but for short messages between nodes that
// both poll (Config.Waiting), which are copied once more. What is pulled or returned is not copied by this package at all.
//
// # Who is let in
//
// Without Config.Keys, processes of the same user, over Unix sockets: the kernel says whose they are. With it, members of the same
// cluster: their certificates say who they are, and which services and groups they may have. Others can neither register such a name
// nor send in it, and a record that leads to them is not believed (ErrForbidden). The ID of a process follows from whose it is, so that
// nobody can take the place of another one. A peer that breaks a rule loses its link, and nothing else.
//
// # Between hosts
//
// A service of another host is one whose process listens there: Config.Listen, with Keys or Plain, names addresses of this host that the
// others can dial. A software NIC has a Listen of its own, on the same host; package here sets both. Who only calls need not listen: it is
// the one that dials, and so is its NIC. Config.Listener and Config.Preface are for processes that have one port for everything.
//
// All addresses of a host ("0.0.0.0:7471", ":0") are told to others as one: that of the interface of the default route, or else the first
// of an interface that is up. If they should dial others, name those; they are tried in turn.
//
// # What is promised
//
// A message is delivered at most once, and messages from one process to one service that need no retry arrive in the order in which they
// were sent. Those to different services may overtake each other. A sender waits while the receiver is slow. When a process ends, whoever
// waits for it hears so: a message that was surely not delivered is sent again, to wherever the service is by then; one of which nobody
// knows is an error (ErrLost), unless it is marked Idempotent. Delivered is what lies in the queue of its service: whether that still
// looks at it, only the answer to a call tells.
//
// Who cancels a call, or ends, need not have its service work for nothing: the context of its [Handler] ends. That is a hint, which may be
// lost where a deadline is not.
//
// A service is one process's at a time. One that was stopped, and superseded meanwhile, receives nothing more when it goes on, not even
// what lies in its queue: the calls among that are sent to whoever has the service by then. What Receive has returned before is the
// program's affair. Whoever waits for an answer of a stopped process does not wait for it to go on: when the service has moved, what is
// Idempotent is sent again, and the rest is ErrLost two seconds later, if nothing was heard of the old process until then.
package ripc
