// Package etcd finds services in a directory: an etcd cluster, or the server of package embedded. It is the resolver for many
// hosts, and the one in which services move from process to process while messages flow.
//
//	directory, err := etcd.Open(ctx, etcd.Config{Endpoints: []string{"10.0.0.1:2379"}})
//	if err != nil {
//		return err
//	}
//	defer directory.Close()
//	claim, err := directory.Claim(ctx, record)
//
// # What is in the directory
//
// All keys begin with a prefix, "/weft/" unless configured. ID and NODE are in hexadecimal digits.
//
//	services/ID/holder  the record of a service that one process has
//	services/ID/NODE    the record of one member of a group
//	services/ID/wanted  the record of a process that waits to take the service over
//	epochs              to what the revision is added to make an epoch
//
// All but the last are bound to the lease of the process that wrote them. A process has one lease for all its services, so that
// a thousand services cost as many messages as one: a renewal every third of its time to live. Only a transaction on an
// absent key makes a holder, so there is one at a time.
//
// # Epochs
//
// The epoch of a claim is the revision of the transaction that made it, plus what key epochs says. Both only grow, so a later
// claim has a higher epoch than every earlier one of any service. Key epochs is there for services that other resolvers know
// too, whose epochs may be larger: it is raised to them. Who asks for an epoch that is far ahead of all others, or again for
// what it has, is given just that, so that several resolvers can agree.
//
// # How long a claim is valid
//
// A claim is valid for nine tenths of the lease's time to live, counted from before the renewal was sent. The server counts
// from later, so this end is done first; the last tenth is for clocks that do not run at the same speed. While the
// directory does not answer, claims run out but do not end: if the lease is still there when it answers again, they are
// valid again. If it is not, they end with find.ErrLost.
//
// A takeover never writes over a living holder, since that one might not learn of it in time. It says that it wants the
// service; the holder ends its claim, and only then deletes its key. A holder that does not hear it loses its lease.
package etcd
