// Package find says where services are. It is for package ripc, which sends messages to services and not to machines, and for
// programs that want to see what runs where.
//
// A [Record] says in which process a service runs and where that process listens. A [Resolver] makes records known and finds
// them: by a table, among the processes of one host, by multicast on a network, in a directory. Each has a package of its own
// below this one. A [Cache] asks several resolvers in order and remembers what they said.
//
// # One process for a service
//
// A service with a name, or with an ID that was drawn, is in one process at a time; a group is in any number. Who wants to be
// that process claims the service, and is given an epoch: the number of the service's incarnation. A later claim has a
// higher one. So everybody who meets two records of one service knows which of them holds.
//
// A claim is a lease. Its holder renews it, in a goroutine of the resolver's, and nobody else gets the service before the
// lease has run out or the holder is known to be dead. A process that was stopped and goes on finds that the time is past
// that [Claim.ValidUntil] told, and delivers nothing until the claim has been renewed, or has ended because somebody else has
// the service now. Without this two processes could both act as one service, and neither would know.
package find
