// Package link is the machine under ripc: the ends of links between processes, one queue pair for each pair of them, and what
// is under way on them. It knows messages and memory, and nothing of names, addresses or goroutines.
//
// A [Hub] is what the links of a process share: receives, from which every link takes; room for messages to be sent; one
// completion queue. A [Link] is the end of one link.
//
// # Credits
//
// A peer may send as many messages as it was told, counted since the link was made. Each takes a receive of the hub, which is
// free again when the program releases the message: so a slow receiver is felt by its senders, and nothing is lost. Three kinds
// of messages need no credit, because a receive is kept for them: the answer to a call (who calls keeps one), words between
// the two ends, and what is said of one call or one service: that it is given up, that it has enough. A peer that sends more than it
// may, or says what cannot be, loses its link. Receives are promised, never more than there are: the window of a link begins small and
// grows as it is used up.
//
// A service that is slow does not use up the credits of others: what it holds when half of the window is taken is given receives
// beyond that, and when it has a window of those, the peer is told to send it nothing until it has fewer. Messages to it are set
// aside meanwhile, in order.
//
// # Rings
//
// A hub whose loop never sleeps lends its busiest peers a few cells each, and whoever has some, and never sleeps either, writes short
// messages there instead of sending them: see ring.go, and ADR 27. They count like the others, and come in order with them.
//
// # Lending
//
// What a message lends, to be read or to be written to, is opened to the peer of its link alone, by a window of its queue pair
// for each piece. It ends when the peer releases it or answers, when its time has run out, or with the link; and its owner
// hears of it only when nothing can land there, or be read from there, any more.
//
// # Ends
//
// Everything that was given to a link is told its end: a message that was never sent (ErrNotSent: it may be sent elsewhere), one
// of which nobody knows (ErrLost), a call without an answer, loans that came back.
package link
