// Package lan finds services on a local network by multicast, much as ARP finds hosts, and needs no directory (libRIPC, section
// III.B). It is for networks whose hosts can hear each other.
//
// # How it works
//
// Who looks for a service asks all; who has it answers. Who has services announces them three times in a lease, all in one
// datagram if they fit, so everybody knows what there is. Who claims a service says so and listens for a whole lease: if somebody
// has it, he objects; if two claim it at the same time, the one with the lower epoch goes on. Claiming takes a lease's time,
// because the one who had the service may have died or been stopped just after he renewed his. Members of groups, and services
// whose ID was drawn and of which nothing was heard, do not wait: they are nobody else's.
//
// A holder trusts its claim for three quarters of a lease after each announcement. One who finds that more time has gone by
// was stopped, or starved: it asks again, for a whole lease, and is not valid before that.
//
// # What is not promised
//
// There is no quorum. If the network falls apart, each part can have a holder of its own. When the parts meet again, the higher
// epoch wins, and the other holder's claim ends with find.ErrSuperseded. Where that must not be, use a directory.
//
// # Trust
//
// With a Key, every datagram carries a keyed hash of itself (HMAC-SHA256), who sent it, a number and the time. What has
// another key, is too old or too new (Config.Window; so the clocks of the hosts must agree that far), or was heard before, is
// dropped. All who have the key are trusted. Without a key anybody on the network can claim any service and end
// anybody's claim: Config.Open says that this is meant.
package lan
